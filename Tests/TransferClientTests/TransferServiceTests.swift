import Synchronization
import Testing
import TransferWire

@testable import TransferClient

@Suite(.timeLimit(.minutes(1))) struct TransferServiceTests {
    private static let session = #"""
        {"client": "default", "identifier": "s", "id": "0", "kind": "background", "generation": 0,
        "configuration": {"header_names": [], "is_discretionary": false},
        "outstanding": 0, "completed": 0, "failed": 0, "cancelled": 0, "task_counts": {},
        "bytes_received": 0, "bytes_sent": 0, "last_event_sequence": 0, "is_finishing": false,
        "created_at": "2026-03-01T12:00:00Z", "mood": "a member of a newer service"}
        """#

    @Test func sendsAReadAgainUntilItIsAnswered() async throws {
        let count = Mutex(0)
        let transport = ScriptedTransport { _ throws(TransportFailure) in
            switch count.withLock({
                $0 += 1
                return $0
            }) {
            case 1: throw TransportFailure(.broken, "reset")
            case 2: TransportResponse(200, ["{"], failure: TransportFailure(.broken, "cut"))
            case 3: .problem(.unavailable)
            default: TransportResponse(200, [Self.session])
            }
        }
        #expect(try await transport.service().session("s").identifier == "s")
        #expect(transport.requests.count == 4)
        #expect(transport.requests[0].target == "/v1/sessions/s")
        #expect(transport.requests[0].header("Authorization") == "Bearer key")
    }

    @Test func givesUpAfterTheLastAttempt() async throws {
        let transport = ScriptedTransport { _ throws(TransportFailure) in
            throw TransportFailure(.broken, "reset")
        }
        let error = await #expect(throws: TransferError.self) {
            try await transport.service(attemptsMax: 3).session("s")
        }
        #expect(error?.code == .unreachable)
        #expect(transport.requests.count == 3)
    }

    @Test func waitsForASessionThroughAnyOutage() async throws {
        let outstanding = Self.session.replacing(#""outstanding": 0"#, with: #""outstanding": 1"#)
        let count = Mutex(0)
        let transport = ScriptedTransport { _ throws(TransportFailure) in
            switch count.withLock({
                $0 += 1
                return $0
            }) {
            case 1: TransportResponse(200, [outstanding])
            case 2...20: throw TransportFailure(.broken, "reset")
            case 21: TransportResponse(500, ["<html>"])
            default: TransportResponse(200, [Self.session])
            }
        }
        let session = try await transport.service(attemptsMax: 1).finishedSession("s")
        #expect(session.outstanding == 0 && transport.requests.count == 22)
        let absent = ScriptedTransport { _ throws(TransportFailure) in
            throw TransportFailure(.notConnected, "refused")
        }
        let error = await #expect(throws: TransferError.self) {
            try await absent.service(attemptsMax: 1).finishedSession("s")
        }
        #expect(error?.code == .unreachable && absent.requests.count == 1)
    }

    /// A proxy may not pass on that a request waits.
    @Test func pausesBetweenWaitsThatAreNone() async throws {
        let outstanding = Self.session.replacing(#""outstanding": 0"#, with: #""outstanding": 1"#)
        let count = Mutex(0)
        let transport = ScriptedTransport { _ in
            let number = count.withLock {
                $0 += 1
                return $0
            }
            return TransportResponse(200, [number < 10 ? outstanding : Self.session])
        }
        var service = transport.service()
        service.retryPolicy = RetryPolicy(delayBase: .milliseconds(4), delayMax: .milliseconds(4))
        let start = ContinuousClock.now
        _ = try await service.finishedSession("s")
        // Half of the pause at least, nine times.
        #expect(ContinuousClock.now - start >= .milliseconds(18))
    }

    /// Streams and waits, which are repeated without an end, would never pause.
    @Test(arguments: [("3", 3), ("0", nil), ("-1", nil), ("soon", nil)] as [(String, Int?)])
    func noTimeIsNoPauseThatIsAskedFor(_ text: String, _ seconds: Int?) {
        let head = TransportResponse(503, headers: [("Retry-After", text)])
        let asked = ServiceResponse(head, body: []).retryAfter
        #expect(asked == seconds.map { Duration.seconds($0) })
    }

    @Test func repeatsACreationWithTheSameKey() async throws {
        let count = Mutex(0)
        let transport = ScriptedTransport { _ throws(TransportFailure) in
            let number = count.withLock {
                $0 += 1
                return $0
            }
            if number < 3 { throw TransportFailure(.broken, "reset") }
            return .problem(.quotaExceeded)
        }
        let request = SubscriptionRequest(url: "https://example.com/")
        let error = await #expect(throws: TransferError.self) {
            try await transport.service().subscribe(request)
        }
        #expect(error?.problem?.code == .quotaExceeded)
        let keys = transport.requests.map { $0.header("Idempotency-Key") }
        #expect(keys.count == 3 && keys[0] != nil && Set(keys).count == 1)
        #expect(Set(transport.requests.map(\.text)) == [#"{"url":"https://example.com/"}"#])
    }

    @Test func repeatsARequestForALaunchWithTheSameKey() async throws {
        let transport = ScriptedTransport { _ throws(TransportFailure) in
            throw TransportFailure(.broken, "reset")
        }
        _ = await #expect(throws: TransferError.self) {
            try await transport.service(attemptsMax: 3)
                .submit(BackgroundTaskSubmission(identifier: "refresh"))
        }
        let keys = transport.requests.map { $0.header("Idempotency-Key") }
        #expect(keys.count == 3 && keys[0] != nil && Set(keys).count == 1)
    }

    @Test func repeatsAnExtensionOfARun() async throws {
        let transport = ScriptedTransport { _ throws(TransportFailure) in
            throw TransportFailure(.broken, "reset")
        }
        _ = await #expect(throws: TransferError.self) {
            try await transport.service(attemptsMax: 3).extend(run: "r", forAtLeast: .seconds(30))
        }
        let targets = transport.requests.map(\.target)
        #expect(targets == Array(repeating: "/v1/background-tasks/runs/r/extend", count: 3))
        #expect(Set(transport.requests.map(\.text)) == [#"{"seconds":30}"#])
    }

    @Test func saysWhereARequestIsWrong() async throws {
        let fault = FieldError(pointer: "/url", .forbiddenAddress, "Not there.")
        let transport = ScriptedTransport { _ in
            .problem(.validationFailed, errors: [fault])
        }
        let error = await #expect(throws: TransferError.self) {
            try await transport.service().subscribe(SubscriptionRequest(url: "x"))
        }
        #expect(error?.code == .problem(.validationFailed) && error?.status == 422)
        #expect(error?.faults == [fault])
    }

    @Test func countsNoFaultsOfOtherItemsOfABatch() {
        let faults = ["/0/url", "/1/url"].map { FieldError(pointer: $0, .invalidURL, "Is no URL.") }
        let problem = ProblemDetails(
            .validationFailed,
            detail: "2 fields are not valid.",
            errors: faults,
            requestID: "r"
        )
        let error = TransferError(problem)
        #expect(!error.ofItem([faults[0]]).message.contains("2 fields"))
        #expect(error.ofItem(faults).message == "2 fields are not valid.")
    }

    @Test func keepsACodeThatIsNewer() async throws {
        let transport = ScriptedTransport { _ in
            TransportResponse(
                409,
                [
                    #"{"type": "t", "title": "Too blue", "status": 409, "code": "too_blue", "#,
                    #""request_id": "r", "hue": 3, "#,
                    #""errors": [{"pointer": "/a", "code": "bluish", "detail": "Is blue."}]}"#,
                ]
            )
        }
        let error = await #expect(throws: TransferError.self) {
            try await transport.service().session("s")
        }
        #expect(error?.code == TransferError.Code(rawValue: "too_blue"))
        #expect(error?.problem?.code == nil && error?.message == "Too blue")
        #expect(error?.faults.first?.codeName == "bluish" && error?.faults.first?.code == nil)
    }

    @Test func endsAnAttemptThatTakesTooLong() async throws {
        let transport = ScriptedTransport { _ in
            // A body that never ends.
            let body = AsyncThrowingStream<[UInt8], any Error> { _ in }
            return TransportResponse(status: 200, headers: [], body: body)
        }
        var service = transport.service(attemptsMax: 2)
        service.timeout = .milliseconds(20)
        let error = await #expect(throws: TransferError.self) {
            try await service.session("s")
        }
        #expect(error?.code == .timedOut)
        #expect(transport.requests.count == 2)
    }

    @Test func takesTheEndOfWhatItMeantForItsOwnDoing() async throws {
        for (first, isDone) in [(TransportFailure.Kind.broken, true), (.notConnected, false)] {
            let count = Mutex(0)
            let transport = ScriptedTransport { _ throws(TransportFailure) in
                if count.withLock({
                    $0 += 1
                    return $0
                }) == 1 {
                    throw TransportFailure(first, "reset")
                }
                return .problem(.unknownSubscription)
            }
            var failure: TransferError?
            do throws(TransferError) {
                try await transport.service().unsubscribe("0")
            } catch {
                failure = error
            }
            // A first request that has not arrived has deleted nothing.
            #expect(isDone ? failure == nil : failure?.problem?.code == .unknownSubscription)
            #expect(transport.requests.count == 2)
        }
    }

    /// The session has ended by the first request, whose response is lost, and another one has its
    /// name.
    @Test func endsNoSessionButTheOneThatItMeant() async throws {
        let hasEnded = Mutex(false)
        let other = Self.session.replacing(#""id": "0""#, with: #""id": "1""#)
        let transport = ScriptedTransport { request throws(TransportFailure) in
            let wasEnded = hasEnded.withLock { $0 }
            if request.method == "GET" {
                return TransportResponse(
                    200,
                    [wasEnded ? other : Self.session],
                    headers: [("ETag", wasEnded ? "2" : "1")]
                )
            }
            hasEnded.withLock { $0 = true }
            if !wasEnded { throw TransportFailure(.broken, "reset") }
            return .problem(.preconditionFailed)
        }
        try await transport.service().invalidateSession("s")
        #expect(transport.requests.map(\.method) == ["GET", "DELETE", "DELETE", "GET"])
        #expect(transport.requests.map { $0.header("If-Match") } == [nil, "1", "1", nil])
    }

    @Test func endsASessionThatOthersChangeMeanwhile() async throws {
        let count = Mutex(0)
        let transport = ScriptedTransport { _ in
            let number = count.withLock {
                $0 += 1
                return $0
            }
            return switch number {
            case 1, 3: TransportResponse(200, [Self.session], headers: [("ETag", "\(number)")])
            case 2: .problem(.preconditionFailed)
            default: TransportResponse(204)
            }
        }
        try await transport.service().invalidateSession("s")
        #expect(transport.requests.map { $0.header("If-Match") } == [nil, "1", nil, "3"])
        // A key that may end a session, but not read it, ends the one that has the name.
        let unread = ScriptedTransport { request in
            request.method == "GET" ? .problem(.insufficientScope) : TransportResponse(204)
        }
        try await unread.service().invalidateSession("s")
        #expect(unread.requests.map { $0.header("If-Match") } == [nil, nil])
        // Nothing was ended by a request that only reads, though its response was lost.
        let isFirst = Mutex(true)
        let absent = ScriptedTransport { _ throws(TransportFailure) in
            let isLost = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            if isLost { throw TransportFailure(.broken, "reset") }
            return .problem(.unknownSession)
        }
        let error = await #expect(throws: TransferError.self) {
            try await absent.service().invalidateSession("s")
        }
        #expect(error?.problem?.code == .unknownSession)
    }

    @Test func endsWithItsCaller() async throws {
        let transport = ScriptedTransport { _ in
            let body = AsyncThrowingStream<[UInt8], any Error> { _ in }
            return TransportResponse(status: 200, headers: [], body: body)
        }
        let call = Task { try await transport.service().session("s") }
        call.cancel()
        let error = await #expect(throws: TransferError.self) { try await call.value }
        #expect(error?.code == .cancelled)
    }

    /// Two programs that permit their identifiers at the same time both have them then.
    @Test func permitsIdentifiersBesideThoseThatOthersPermitMeanwhile() async throws {
        let count = Mutex(0)
        let transport = ScriptedTransport { _ in
            switch count.withLock({
                $0 += 1
                return $0
            }) {
            case 1: Self.settings(["a"], tag: "1")
            case 2: .problem(.preconditionFailed)
            case 3: Self.settings(["a", "b"], tag: "2")
            case 4: Self.settings(["a", "b", "c.*"], tag: "3")
            default: Self.settings(["c.*"], tag: "4")
            }
        }
        let service = transport.service()
        let settings = try await service.permit(identifiers: ["a", "c.*"])
        #expect(settings.permittedIdentifiers == ["a", "b", "c.*"])
        #expect(transport.requests.map(\.method) == ["GET", "PATCH", "GET", "PATCH"])
        #expect(transport.requests.map { $0.header("If-Match") } == [nil, "1", nil, "2"])
        let bodies = transport.requests.map(\.text)
        #expect(bodies[1] == #"{"permitted_identifiers":["a","c.*"]}"#)
        #expect(bodies[3] == #"{"permitted_identifiers":["a","b","c.*"]}"#)
        // What is permitted already is not changed.
        try await service.permit(identifiers: ["c.*"])
        #expect(transport.requests.count == 5)
    }

    @Test func givesUpToPermitWhatOthersChangeAllTheTime() async throws {
        let transport = ScriptedTransport { request in
            request.method == "GET" ? Self.settings([], tag: "1") : .problem(.preconditionFailed)
        }
        let error = await #expect(throws: TransferError.self) {
            try await transport.service(attemptsMax: 3).permit(identifiers: ["a"])
        }
        #expect(error?.problem?.code == .preconditionFailed)
        #expect(transport.requests.count == 6)
    }

    private static func settings(_ permitted: [String], tag: String) -> TransportResponse {
        let list = permitted.map { "\"\($0)\"" }.joined(separator: ", ")
        let document = #"""
            {"permitted_identifiers": [\#(list)], "enabled": true, "capacity": "idle",
            "assertion_budget_seconds": 30, "app_refresh_seconds": 30, "processing_seconds": 300}
            """#
        return TransportResponse(200, [document], headers: [("ETag", tag)])
    }

    @Test func needsAnAddressAndAKey() throws {
        #expect(throws: TransferError.self) {
            try TransferService(environment: ["TRANSFERD_URL": "http://127.0.0.1"])
        }
    }

    @Test(arguments: [
        ("http://a:65536", "key"), ("http://a:99999", "key"), ("http://a:0", "key"),
        ("http://a?x", "key"), ("http://a#x", "key"), ("http://user@a", "key"), ("ftp://a", "key"),
        ("http://a/v1", "key"), ("http://a/below/v1/", "key"),
        ("http://a", ""), ("http://a", "tdk_a\r"), ("http://a", "tdk_a\nb"),
        ("http://a", "tdk_a\0"), ("http://a", "tdk_é"),
    ])
    func sendsNothingWithAnAddressOrAKeyThatCannotBeUsed(url: String, key: String) async throws {
        let transport = ScriptedTransport { _ in TransportResponse(200, [Self.session]) }
        let service = TransferService(url: url, apiKey: key, transport: transport)
        let error = await #expect(throws: TransferError.self) { try await service.session("s") }
        #expect(error?.code == .misconfigured)
        #expect(error?.description.contains("tdk") == false)
        #expect(transport.requests.isEmpty)
        #expect(throws: TransferError.self) {
            try TransferService(environment: ["TRANSFERD_URL": url, "TRANSFERD_API_KEY": key])
        }
    }
}
