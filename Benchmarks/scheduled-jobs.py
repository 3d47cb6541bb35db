"""Measures the scheduled jobs of a Python queue on PostgreSQL: prints its figures as JSON.

First jobs that are all due run, 64 at once; then jobs run that become due one by one, and each
notes how late it is. Workers otherwise have their queue's own settings, so that lateness is what
its users get.
"""

import argparse
import asyncio
import contextlib
import json
import logging
import time
from datetime import datetime, timedelta, timezone

CONCURRENCY = 64
BATCH = 500


class Pgqueuer:
    """pgqueuer, whose worker sleeps until the next job is due."""

    def __init__(self, options):
        self.options = options

    async def start(self, job):
        import asyncpg
        from pgqueuer import AsyncpgDriver, Queries, QueueManager

        connection = await asyncpg.connect(
            host=self.options.host, user=self.options.user, database=self.options.database
        )
        self.queries = Queries(AsyncpgDriver(connection))
        if not await self.queries.schema_is_installed():
            await self.queries.install()
        worker = await asyncpg.connect(
            host=self.options.host, user=self.options.user, database=self.options.database
        )
        self.manager = QueueManager(Queries(AsyncpgDriver(worker)))

        @self.manager.entrypoint("scheduled")
        async def run(taken):
            job(json.loads(taken.payload))

    async def defer(self, times):
        now = time.time()
        for first in range(0, len(times), BATCH):
            part = times[first : first + BATCH]
            await self.queries.enqueue(
                ["scheduled"] * len(part),
                [json.dumps(due).encode() for due in part],
                [0] * len(part),
                [timedelta(seconds=max(0, due - now)) for due in part],
            )

    async def work(self):
        await self.manager.run(batch_size=CONCURRENCY)


class Procrastinate:
    """procrastinate, whose worker looks for due jobs each 5 s."""

    def __init__(self, options):
        from procrastinate import App, PsycopgConnector

        self.app = App(
            connector=PsycopgConnector(
                kwargs={
                    "host": options.host,
                    "user": options.user,
                    "dbname": options.database,
                }
            )
        )

    async def start(self, job):
        await self.app.open_async()
        if not await self.app.check_connection_async():
            await self.app.schema_manager.apply_schema_async()

        @self.app.task(name="scheduled")
        async def run(due):
            job(due)

        self.task = run

    async def defer(self, times):
        for due in times:
            at = datetime.fromtimestamp(due, timezone.utc)
            await self.task.configure(schedule_at=at).defer_async(due=due)

    async def work(self):
        await self.app.run_worker_async(
            concurrency=CONCURRENCY, install_signal_handlers=False, delete_jobs="always"
        )


async def measure(queue, times):
    """Runs jobs that are due at `times`, and returns how late each was, in seconds."""
    late = []
    done = asyncio.Event()

    def job(due):
        late.append(time.time() - due)
        if len(late) == len(times):
            done.set()

    await queue.start(job)
    await queue.defer(times)
    start = time.monotonic()
    worker = asyncio.create_task(queue.work())
    ended = asyncio.create_task(done.wait())
    await asyncio.wait({worker, ended}, return_when=asyncio.FIRST_COMPLETED)
    took = time.monotonic() - start
    if worker.done():
        worker.result()
    worker.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await worker
    assert len(late) == len(times), f"{len(late)} of {len(times)} jobs ran"
    return took, late


async def main():
    # procrastinate warns that its app is not in a module of its own.
    logging.disable(logging.WARNING)
    queues = {"pgqueuer": Pgqueuer, "procrastinate": Procrastinate}
    options = argparse.ArgumentParser()
    options.add_argument("--queue", choices=queues, required=True)
    options.add_argument("--host", required=True)
    options.add_argument("--user", required=True)
    options.add_argument("--database", required=True)
    options.add_argument("--jobs", type=int, required=True)
    options.add_argument("--late-jobs", type=int, required=True)
    options.add_argument("--late-interval", type=float, required=True)
    options = options.parse_args()
    make = queues[options.queue]
    took, _ = await measure(make(options), [time.time()] * options.jobs)
    start = time.time() + 3
    times = [start + number * options.late_interval for number in range(options.late_jobs)]
    _, late = await measure(make(options), times)
    print(json.dumps({"seconds": took, "late": [1000 * each for each in late]}))


asyncio.run(main())
