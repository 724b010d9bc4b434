"""Follows a topic with asyncio while another task appends to it."""

import asyncio

import rawline


async def produce(client: rawline.AsyncClient) -> None:
    async with client.producer("ticks") as producer:
        for number in range(5):
            receipt = await producer.send(f"tick {number}")
            print("stored at offset", await receipt)


async def follow(client: rawline.AsyncClient, start: int) -> None:
    async with client.consumer("ticks", start, end=start + 5) as consumer:
        async for record in consumer.records():
            print("came:", bytes(record).decode())


async def main() -> None:
    async with rawline.AsyncClient() as client:
        # Creates the topic if it does not exist.
        start = (await client.set_payload("ticks", "bytes")).next_offset
        await asyncio.gather(follow(client, start), produce(client))


asyncio.run(main())
