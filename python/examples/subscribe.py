"""Receives the records of all topics whose names begin with sensors., as they are stored."""

import rawline

with rawline.Client() as client, client.subscribe(prefixes=["sensors."]) as subscription:
    client.append("sensors.attic", ["21.5 degrees"])
    client.append("sensors.cellar", ["12.0 degrees", "12.1 degrees"])

    left = 3
    for batch in subscription:
        for offset, record in enumerate(batch, batch.first_offset):
            print(f"{batch.topic}/{offset}  {bytes(record).decode()}")
        left -= len(batch)
        if left == 0:
            break
