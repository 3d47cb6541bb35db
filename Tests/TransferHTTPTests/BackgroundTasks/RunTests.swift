import Foundation
import Postgres
import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite(.postgresSchema) struct RunTests {
    @Test func isCompletedOnce() async throws {
        try await APIServer.run { server in
            try await server.register()
            let run = try await server.launch()
            let done = try await server.change(run.id, "complete", #"{"success": false}"#)
            #expect(try done.json(RunDocument.self).state == "failed")
            for verb in ["complete", "extend", "progress", "transfers"] {
                let bodies = [
                    "complete": #"{"success": true}"#, "extend": #"{"seconds": 5}"#,
                    "progress": #"{"completed_unit_count": 1, "total_unit_count": 1}"#,
                    "transfers": #"{"task_ids": ["\#(UUID().text)"]}"#,
                ]
                let again = try await server.change(run.id, verb, bodies[verb])
                #expect(again.code == .runEnded, "\(verb)")
            }
            #expect(try await server.change(run.id, "accept").code == .runEnded)
            #expect(try await server.run(run.id).state == "failed")
            let next = try await server.stores.timers.untilNextTimer()
            #expect(next == nil)
        }
    }

    @Test func anUnknownRunIsNotFound() async throws {
        try await APIServer.run { server in
            try await server.register()
            let run = try await server.launch()
            for id in ["\(UUID().text)", "1"] {
                let answer = try await server.change(id, "complete", #"{"success": true}"#)
                #expect(answer.code == .unknownRun)
            }
            let path = "/v1/background-tasks/runs/\(run.id)"
            #expect(try await server.send("GET", path, as: server.second).code == .unknownRun)
            let foreign = try await server.send(
                "POST",
                "\(path)/complete",
                #"{"success": true}"#,
                as: server.second
            )
            #expect(foreign.code == .unknownRun)
            #expect(try await server.run(run.id).state == "launched")
        }
    }

    @Test(arguments: [("refresh", 30.0), ("clean", 600.0)])
    func itsExpiryIsAnnounced(identifier: String, time: Double) async throws {
        try await APIServer.run { server in
            try await server.register([("refresh", "app_refresh"), ("clean", "processing")])
            let clock = try await server.clock()
            let run = try await server.launch(identifier)
            // Microseconds, as seconds in floating point.
            let given = run.deadlineAt.date.timeIntervalSince(run.launchedAt.date)
            #expect(abs(given - time) < 0.00001)
            try await server.change(run.id, "accept")
            try await clock.pass(until: 20, before: .deadline)
            #expect(try await server.clientEvents().map(\.type) == ["background_task.launch"])
            // Early enough that its client has 4 seconds when it hears of it.
            try await clock.pass(until: 4.4, before: .deadline)
            #expect(
                try await server.clientEvents().map(\.type)
                    == ["background_task.launch", "background_task.expiring"]
            )
            try await clock.pass(until: -1, before: .deadline)
            #expect(try await server.clientEvents().last?.type == "background_task.expired")
            #expect(try await server.run(run.id).state == "expired")
            let late = try await server.change(run.id, "complete", #"{"success": true}"#)
            #expect(late.code == .runEnded)
            #expect(try await server.pending().isEmpty)
        }
    }

    /// Words of the client that come when the announcement is due and not yet made, of which one
    /// moves the deadline by less than the notice.
    @Test(arguments: [
        ("progress", #"{"completed_unit_count": 1, "total_unit_count": 2}"#),
        ("extend", #"{"seconds": 3}"#),
    ])
    func itsExpiryIsAnnouncedAfterAWord(verb: String, body: String) async throws {
        try await APIServer.run { server in
            try await server.register()
            let clock = try await server.clock()
            let run = try await server.launch()
            try await server.change(run.id, "accept")
            try await clock.move(until: 2, before: .deadline)
            #expect(try await server.change(run.id, verb, body).status == 200)
            try await clock.pass(until: 4, before: .deadline)
            #expect(
                try await server.clientEvents().map(\.type)
                    == ["background_task.launch", "background_task.expiring"]
            )
        }
    }

    @Test func oneWithoutAnExpirationHandlerEndsWithoutWarning() async throws {
        try await APIServer.run { server in
            try await server.register([])
            try await server.send(
                "PUT",
                "/v1/background-tasks/handlers/refresh",
                #"{"kind": "app_refresh", "has_expiration_handler": false}"#
            )
            let clock = try await server.clock()
            let run = try await server.launch()
            try await server.change(run.id, "accept")
            try await clock.pass(27)
            try await clock.pass(4)
            #expect(
                try await server.clientEvents().map(\.type)
                    == ["background_task.launch", "background_task.expired"]
            )
        }
    }

    @Test func isExtendedWithinABound() async throws {
        try await APIServer.run { server in
            try await server.register()
            let clock = try await server.clock()
            let run = try await server.launch()
            try await clock.pass(until: 20, before: .deadline)
            try await server.change(run.id, "accept")
            try await server.change(run.id, "extend", #"{"seconds": 30}"#)
            // Five seconds after its first deadline.
            try await clock.pass(until: 5, before: .deadline)
            #expect(try await server.run(run.id).state == "running")
            let answer = try await server.change(run.id, "extend", #"{"seconds": 86400}"#)
            let last = try answer.json(RunDocument.self)
            #expect(last.deadlineAt.date.timeIntervalSince(last.launchedAt.date) == 600)
            let wrong = try await server.change(run.id, "extend", #"{"seconds": 0}"#)
            #expect(wrong.faults == ["/seconds invalid_value"])
        }
    }

    /// As after a response that was lost.
    @Test func anExtensionThatIsRepeatedDoesNotAddUp() async throws {
        try await APIServer.run { server in
            try await server.register()
            let clock = try await server.clock()
            let run = try await server.launch()
            for _ in 0..<3 { try await server.change(run.id, "extend", #"{"seconds": 60}"#) }
            let deadline = try await server.run(run.id).deadlineAt.date
            #expect(deadline > run.deadlineAt.date && deadline <= Date.now + 60)
            try await clock.pass(until: 4.4, before: .deadline)
            // What asks for less than is left has no new deadline to be announced.
            try await clock.move(until: 300, before: .deadline)
            try await server.change(run.id, "extend", #"{"seconds": 100}"#)
            try await clock.pass(until: 4.4, before: .deadline)
            let announcements = try await server.clientEvents()
                .count { $0.type == "background_task.expiring" }
            #expect(announcements == 1)
        }
    }

    @Test func aDeadlineIsAnnouncedOnce() async throws {
        try await APIServer.run { server in
            try await server.register()
            let clock = try await server.clock()
            let task = try await server.submit(try await server.session())
            // It is looked at every second.
            let run = try await server.launch("refresh", #""completes_with_transfers": true"#)
            try await server.change(run.id, "transfers", #"{"task_ids": ["\#(task)"]}"#)
            try await server.change(run.id, "extend", #"{"seconds": 3600}"#)
            try await clock.pass(until: 4.4, before: .deadline)
            // As far as it goes already.
            try await server.change(run.id, "extend", #"{"seconds": 3600}"#)
            try await clock.pass(1)
            let announcements = try await server.clientEvents()
                .count { $0.type == "background_task.expiring" }
            #expect(announcements == 1)
        }
    }

    @Test func aRequestMadeDuringTheRunIsLaunchedAfterIt() async throws {
        try await APIServer.run { server in
            try await server.register()
            let run = try await server.launch()
            try await server.change(run.id, "accept")
            try await server.request("refresh", #""min_interval_seconds": 900"#)
            try await server.change(run.id, "complete", #"{"success": true}"#)
            #expect(try await server.pending().map(\.waitsFor.reason) == ["interval"])
            try await server.clock().pass(901)
            #expect(try await server.runs().count == 2)
        }
    }

    @Test(arguments: [false, true])
    func itsTransfersAreCancelledAtExpiry(completesWithThem: Bool) async throws {
        try await APIServer.run { server in
            try await server.register()
            let clock = try await server.clock()
            let session = try await server.session()
            let linked = try await server.submit(session)
            let other = try await server.submit(session)
            let run = try await server.launch(
                "refresh",
                #"""
                "cancels_transfers_at_expiry": true,
                "completes_with_transfers": \#(completesWithThem)
                """#
            )
            let answer = try await server.change(
                run.id,
                "transfers",
                #"{"task_ids": ["\#(linked)", "\#(UUID().text)"]}"#
            )
            #expect(try answer.json(RunDocument.self).transfers == 1)
            try await clock.pass(2)
            let connection = try await TestDatabase.current.connection()
            let drain: Query = "SELECT drained_before FROM background_task_run"
            let row = try #require(try await connection.execute(drain).first)
            let awaited: UUID = try row.decode("drained_before")
            // The cancellation begins before the one that was waited for.
            #expect((awaited == linked.uuid) == completesWithThem)
            try await clock.pass(31)
            while try await server.stores.timers.cancelTransfers(onCancelled: { _ in }) {}
            let expired = try await server.run(run.id)
            #expect(expired.state == "expired")
            #expect(expired.transfers == 1)
            let tasks = server.stores.tasks
            let ended = try await tasks.task(tenant: server.first.id, id: linked)
            #expect(ended?.state == .cancelled)
            let waiting = try await tasks.task(tenant: server.first.id, id: other)
            #expect(waiting?.state == .queued)
        }
    }

    /// However many another one has.
    @Test func theTransfersOfARunWaitForOnePageOfAnothers() async throws {
        try await APIServer.run { server in
            try await server.register()
            let clock = try await server.clock()
            var runs: [UUID] = []
            let connection = try await TestDatabase.current.connection()
            for _ in 0..<2 {
                let run = try await server.launch(
                    "refresh",
                    #""cancels_transfers_at_expiry": true"#
                )
                try await server.change(run.id, "accept")
                let id = try #require(UUID(uuidString: run.id))
                runs.append(id)
                // Of tasks that are gone, as after their retention.
                _ = try await connection.execute(
                    """
                    INSERT INTO background_task_transfer (run_id, task_id)
                    SELECT \(id), gen_random_uuid()
                    FROM generate_series(1, \(TimerStore.cancelledMax + 1))
                    """
                )
                try await clock.pass(31)
            }
            var pages: [UUID] = []
            while try await server.stores.timers.cancelTransfers(onCancelled: { run in
                pages.append(run.uuid)
            }) {}
            #expect(pages.count == 4)
            #expect(Set(pages.prefix(2)) == Set(runs))
        }
    }

    @Test func aRunMayBeCompleteWithItsTransfers() async throws {
        try await APIServer.run { server in
            try await server.register()
            let clock = try await server.clock()
            let session = try await server.session()
            let task = try await server.submit(session)
            let run = try await server.launch("refresh", #""completes_with_transfers": true"#)
            try await server.change(run.id, "transfers", #"{"task_ids": ["\#(task)"]}"#)
            try await clock.pass(2)
            #expect(try await server.run(run.id).state == "running")
            try await server.complete(Array("a".utf8))
            try await clock.pass(2)
            #expect(try await server.run(run.id).state == "succeeded")
        }
    }

    @Test func aRunOfManyTransfersIsLookedAtInPages() async throws {
        try await APIServer.run { server in
            try await server.register()
            let clock = try await server.clock()
            let task = try await server.submit(try await server.session())
            let run = try await server.launch("refresh", #""completes_with_transfers": true"#)
            try await server.change(run.id, "transfers", #"{"task_ids": ["\#(task)"]}"#)
            // Tasks of which nothing is left.
            let connection = try await TestDatabase.current.connection()
            _ = try await connection.execute(
                """
                INSERT INTO background_task_transfer (run_id, task_id)
                SELECT id, gen_random_uuid() FROM background_task_run
                CROSS JOIN generate_series(1, 450)
                """
            )
            try await clock.pass(2)
            #expect(try await server.run(run.id).state == "running")
            let open: Query = """
                SELECT r.drained_before = t.id AS is_there FROM background_task_run r, task t
                """
            let row = try #require(try await connection.execute(open).first)
            let isThere: Bool = try row.decode("is_there")
            #expect(isThere)
            try await server.complete(Array("a".utf8))
            try await clock.pass(2)
            #expect(try await server.run(run.id).reason == "transfers_failed")
        }
    }

    @Test func aForceQuitEndsItAndALaunchBeginsAnew() async throws {
        try await APIServer.run { server in
            try await server.register([("a", "processing"), ("b", "processing")])
            let accepted = try await server.launch("a")
            try await server.change(accepted.id, "accept")
            let other = try await server.launch("b")
            try await server.send("POST", "/v1/clients/default/force-quit")
            for run in [accepted, other] {
                #expect(try await server.run(run.id).state == "client_force_quit")
            }
            try await server.clock().pass(1000)
            #expect(try await server.runs().count == 2)
            try await server.send("POST", "/v1/clients/default/launch")
            try await server.stores.advanceTimers()
            // Only what nobody had taken up is launched again.
            #expect(try await server.runs().map(\.identifier) == ["b", "b", "a"])
        }
    }

    @Test func theExpiryOfARunLetsTheNextOneBegin() async throws {
        try await APIServer.run { server in
            try await server.register()
            let run = try await server.launch()
            try await server.change(run.id, "accept")
            try await server.request()
            try await server.stores.advanceTimers()
            #expect(try await server.pending().map(\.waitsFor.reason) == ["run"])
            try await server.clock().pass(31)
            #expect(try await server.runs().map(\.state) == ["launched", "expired"])
        }
    }

    @Test func aBoundedNumberOfTransfersIsLinked() async throws {
        try await APIServer.run { server in
            try await server.register()
            let task = try await server.submit(try await server.session())
            let run = try await server.launch()
            let connection = try await TestDatabase.current.connection()
            _ = try await connection.execute(
                """
                INSERT INTO background_task_transfer (run_id, task_id)
                SELECT id, gen_random_uuid() FROM background_task_run
                CROSS JOIN generate_series(1, \(BackgroundTaskRun.transfersMax))
                """
            )
            let more = try await server.change(run.id, "transfers", #"{"task_ids": ["\#(task)"]}"#)
            #expect(more.code == .quotaExceeded)
            #expect(try await server.run(run.id).transfers == BackgroundTaskRun.transfersMax)
        }
    }

    @Test func runsArePages() async throws {
        try await APIServer.run { server in
            try await server.register([("a", "processing"), ("b", "processing")])
            for identifier in ["a", "b", "a"] {
                let run = try await server.launch(identifier)
                try await server.change(run.id, "complete", #"{"success": true}"#)
            }
            let path = "/v1/background-tasks/runs"
            let first = try await server.send("GET", "\(path)?limit=2").json(Page<RunDocument>.self)
            #expect(first.items.map(\.identifier) == ["a", "b"])
            let cursor = try #require(first.nextCursor)
            let rest = try await server.send("GET", "\(path)?cursor=\(cursor)")
                .json(Page<RunDocument>.self)
            #expect(rest.items.map(\.identifier) == ["a"])
            let one = try await server.send("GET", "\(path)?identifier=b")
                .json(Page<RunDocument>.self)
            #expect(one.items.count == 1)
            #expect(try await server.send("GET", "\(path)?client=no").code == .unknownClient)
        }
    }
}
