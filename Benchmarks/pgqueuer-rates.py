"""Measures pgqueuer: prints the seconds of each step as JSON.

Calls its `Queries` directly, which is faster than its `QueueManager` and what the store is to
transferd. Each caller has a connection of its own and sends its next call after its last.
"""

import argparse
import asyncio
import json
import time
import uuid
from datetime import timedelta

import asyncpg
from pgqueuer import AsyncpgDriver, Queries
from pgqueuer.ports.repository import EntrypointExecutionParameter

PAYLOAD = b"http://127.0.0.1:8080/small/12345"


async def enqueue(queries, calls, batch):
    for _ in range(calls):
        await queries.enqueue(["fetch"] * batch, [PAYLOAD] * batch, [0] * batch)


async def complete(queries, batch):
    """Takes and completes jobs until there are none."""
    entrypoints = {"fetch": EntrypointExecutionParameter(concurrency_limit=0)}
    manager = uuid.uuid4()
    done = 0
    while jobs := await queries.dequeue(batch, entrypoints, manager, None, timedelta(seconds=30)):
        await queries.log_jobs([(job, "successful", None) for job in jobs])
        done += len(jobs)
    return done


async def seconds(steps):
    start = time.monotonic()
    results = await asyncio.gather(*steps)
    return time.monotonic() - start, results


async def main():
    options = argparse.ArgumentParser()
    options.add_argument("--host", required=True)
    options.add_argument("--user", required=True)
    options.add_argument("--database", required=True)
    options.add_argument("--jobs", type=int, required=True)
    options.add_argument("--enqueue-batch", type=int, required=True)
    options.add_argument("--complete-batch", type=int, required=True)
    options.add_argument("--callers", type=int, required=True)
    options = options.parse_args()
    queues = []
    for _ in range(options.callers):
        connection = await asyncpg.connect(
            host=options.host, user=options.user, database=options.database
        )
        queues.append(Queries(AsyncpgDriver(connection)))
    if not await queues[0].schema_is_installed():
        await queues[0].install()
    calls = options.jobs // options.enqueue_batch // options.callers
    enqueued, _ = await seconds(enqueue(q, calls, options.enqueue_batch) for q in queues)
    completed, counts = await seconds(complete(q, options.complete_batch) for q in queues)
    expected = calls * options.enqueue_batch * options.callers
    assert sum(counts) == expected, f"{sum(counts)} of {expected} jobs are complete"
    print(json.dumps({"enqueue": enqueued, "complete": completed}))


asyncio.run(main())
