"""Appends records to a topic of four partitions by key, and reads all of them."""

import rawline

with rawline.Client() as client:
    client.create_topic("logins", partitions=4)
    with client.producer("logins") as producer:
        for user in ["ada", "grace", "ada"]:
            producer.send(f"{user} logged in", partition_key=user)

    for batch in client.consumer("logins", end=client.topic("logins")):
        for offset, record in enumerate(batch, batch.first_offset):
            print(f"{batch.partition}/{offset}  {bytes(record).decode()}")
