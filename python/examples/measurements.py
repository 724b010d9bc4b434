"""Measurements: Avro records of a metric, tags, a time and a value, read as columns of series."""

import polars as pl

import rawline
from rawline import measurement

client = rawline.Client()
with client.producer("load") as producer:
    producer.send_many(
        measurement.encode("cpu", {"host": f"web-{host}"}, 1_700_000_000_000 + 60_000 * minute, host + minute / 100)
        for minute in range(60)
        for host in range(3)
    )

end = client.topic("load").next_offset
reader = measurement.Reader()
values = pl.DataFrame(reader.decode(client.consumer("load", end=end).take(end)))
series = pl.DataFrame(reader.series())
print(values.join(series.select("series", "tags"), on="series").group_by("series").agg(pl.max("value"), pl.len()))
