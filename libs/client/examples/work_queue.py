"""Shares work between two workers, one of which fails now and then.

Needs a running Korvet: `korvet up`.

python work_queue.py [ADDRESS]
"""

import asyncio
import sys

from korvet.client import DEFAULT_ADDRESS, Korvet, KorvetError, NewRecord

JOBS = 10


async def work(korvet: Korvet, name: str, done: set[bytes]) -> None:
    async for delivery in korvet.consume("jobs", group="workers", consumer=name):
        job = delivery.record.value or b""
        if name == "clumsy" and delivery.delivery_count == 1:
            # Somebody else, or this worker again, gets it at once. A worker that dies
            # need not say so: what it held is delivered again after `redeliver_after`.
            await delivery.release()
            continue
        print(f"{name} did {job.decode()} (delivery {delivery.delivery_count})")
        await delivery.ack()
        done.add(job)
        if len(done) == JOBS:
            return


async def main(address: str) -> None:
    async with Korvet(address) as korvet:
        try:
            await korvet.create_topic("jobs", partitions=2)
        except KorvetError as error:
            if error.name != "TOPIC_ALREADY_EXISTS":
                raise

        jobs = [NewRecord(value=f"job {n}".encode()) for n in range(JOBS)]
        await korvet.append_many("jobs", jobs)

        done: set[bytes] = set()
        workers = [asyncio.create_task(work(korvet, n, done)) for n in ("deft", "clumsy")]
        await asyncio.wait(workers, return_when=asyncio.FIRST_COMPLETED)
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_ADDRESS))
