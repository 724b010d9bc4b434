"""Temperatures of two rooms: produced, consumed into polars, plotted. Run it as is, or cell by cell in a notebook."""

import json, math, random

import matplotlib.pyplot as plt
import polars as pl
import rawline

client = rawline.Client()  # the broker at RAWLINE_BROKER, or the one on this machine

# %% Produce: a record for each room and minute of two days
with client.producer("temperatures", codec="zstd") as producer:
    for minute in range(2 * 24 * 60):
        for room, usual in {"kitchen": 21, "cellar": 12}.items():
            celsius = usual + 2 * math.sin(minute / 230) + random.gauss(0, 0.3)
            producer.send(json.dumps({"room": room, "hour": minute / 60, "celsius": celsius}))

# %% Consume: all records so far as a data frame, over the bytes received
end = client.topic("temperatures").next_offset
records = pl.DataFrame(client.consumer("temperatures", end=end).take(end))
fields = pl.Struct({"room": pl.String, "hour": pl.Float64, "celsius": pl.Float64})
readings = records.select(pl.col("record").cast(pl.String).str.json_decode(fields)).unnest("record")

# %% Plot: the mean of each hour
hourly = readings.group_by("room", pl.col("hour").floor()).agg(pl.mean("celsius")).sort("room", "hour")
for (room,), line in hourly.group_by("room", maintain_order=True):
    plt.plot(line["hour"], line["celsius"], label=room)
plt.xlabel("hour"), plt.ylabel("°C"), plt.legend(), plt.savefig("temperatures.png")
print(f"{len(readings)} readings of {end} records, plotted in temperatures.png")
