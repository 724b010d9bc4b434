"""Reads a topic as a member of a group. Start it twice: each process then reads half of the partitions."""

import sys

import rawline

topic, group = sys.argv[1:]
with rawline.Client() as client, client.consumer(topic, group=group) as consumer:
    # Asking for more says that the last records are processed, and ending the block commits them.
    while (records := consumer.poll(timeout=2)) is not None:
        partitions = sorted({batch.partition for batch in records.batches})
        print(f"{len(records)} records of partitions {partitions}", flush=True)
    print("nothing new for 2 s; lag of what is committed:", client.group(group).lag)
