"""Appends to a topic and follows it. Needs a running Korvet: `korvet up`.

python quickstart.py [ADDRESS]
"""

import asyncio
import sys

from korvet.client import DEFAULT_ADDRESS, Korvet, KorvetError, NewRecord


async def main(address: str) -> None:
    async with Korvet(address) as korvet:
        try:
            await korvet.create_topic("greetings", partitions=2)
        except KorvetError as error:
            if error.name != "TOPIC_ALREADY_EXISTS":
                raise

        position = await korvet.append("greetings", b"hello", key=b"world")
        print(f"appended at {position.partition}:{position.offset}")

        # Many at once: one request for each partition.
        await korvet.append_many(
            "greetings",
            [NewRecord(value=f"hello {n}".encode(), key=b"world") for n in range(1, 4)],
        )

        # Keys decide the partition, so all of them are in the first one's.
        start, partition = position.offset, position.partition
        seen = 0
        async for record in korvet.tail("greetings", start=start, partitions=[partition]):
            print(f"{record.time:%H:%M:%S} {record.key!r} {record.value!r}")
            seen += 1
            if seen == 4:
                break


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_ADDRESS))
