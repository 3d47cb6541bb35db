import Curl
import Testing
@testable import TransferEngine
import TransferModel

/// Traces of one attempt: heads and ends go in, decisions come out.
@Suite struct ResponseStateMachineTests {
    private static func head(
        _ status: Int,
        _ headers: [(name: String, value: String)] = []
    ) -> ResponseHead {
        ResponseHead(status: status, httpVersion: "1.1", headers: headers, contentLength: nil)
    }

    private static func machine(
        _ url: String = "https://a.test/x",
        redirectsMax: Int = 10
    ) throws -> ResponseStateMachine {
        ResponseStateMachine(url: try CurlURL(url), redirectsMax: redirectsMax)
    }

    private static let done = Result<CurlSummary, CurlError>.success(CurlSummary())

    /// Returns the code of a failed end; nil for any other action.
    private static func code(_ action: ResponseStateMachine.FinishAction) -> TransferFailure.Code? {
        guard case .end(.failed(let failure)) = action else { return nil }
        return failure.code
    }

    @Test func aWholeBodyIsTheResult() throws {
        var machine = try Self.machine()
        let head = Self.head(200, [("Content-Type", "text/plain"), ("ETag", "\"1\"")])
        #expect(machine.received(head) == .receive)
        var summary = CurlSummary()
        summary.isLengthVerified = true
        guard
            case .end(.finished(let result)) = machine.finished(
                .success(summary),
                bytesWritten: 9
            )
        else {
            Issue.record("not finished")
            return
        }
        #expect(
            result
                == TransferResult(
                    httpStatus: 200,
                    bytesReceived: 9,
                    fields: KeptFields(of: [("Content-Type", "text/plain"), ("ETag", "\"1\"")]),
                    isLengthVerified: true,
                    suggestedFileName: "x"
                )
        )
    }

    @Test func fieldsThatAreTooLongOrNotTextAreLeftOut() throws {
        var machine = try Self.machine()
        _ = machine.received(
            Self.head(
                200,
                [
                    ("Content-Type", String(repeating: "x", count: KeptFields.bytesMax)),
                    ("ETag", "a\u{7}b"),
                ]
            )
        )
        guard case .end(.finished(let result)) = machine.finished(Self.done, bytesWritten: 0)
        else {
            Issue.record("not finished")
            return
        }
        #expect(result.contentType == nil)
        #expect(result.etag == nil)
    }

    @Test(arguments: [100, 199, 206, 300, 304, 305, 306, 400, 404, 410, 429, 500, 503, 599])
    func anyOtherStatusFailsTheAttempt(status: Int) throws {
        var machine = try Self.machine()
        #expect(machine.received(Self.head(status)) == .discard)
        // Neither the body of the answer nor its end matters.
        let action = machine.finished(.failure(CurlError(.truncated)), bytesWritten: 0)
        #expect(Self.code(action) == (status == 206 ? .badResponse : .httpStatus))
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func followsARedirect(status: Int) throws {
        var machine = try Self.machine()
        #expect(machine.received(Self.head(status, [("location", "/y?z")])) == .discard)
        guard
            case .follow(let url, let dropsSecrets) = machine.finished(
                Self.done,
                bytesWritten: 0
            )
        else {
            Issue.record("not followed")
            return
        }
        #expect(url.absoluteString == "https://a.test/y?z")
        #expect(!dropsSecrets)
        #expect(machine.received(Self.head(200)) == .receive)
    }

    @Test(arguments: [
        ("https://a.test/x", "https://b.test/x"), ("https://a.test/x", "https://a.test:444/x"),
        ("http://a.test/x", "https://a.test/x"), ("http://a.test/x", "http://A.test:8080/x"),
    ])
    func anotherOriginGetsNoSecrets(from: String, to: String) throws {
        var machine = try Self.machine(from)
        _ = machine.received(Self.head(302, [("Location", to)]))
        guard case .follow(_, let dropsSecrets) = machine.finished(Self.done, bytesWritten: 0)
        else {
            Issue.record("not followed")
            return
        }
        #expect(dropsSecrets)
    }

    @Test(arguments: [
        "http://a.test/plain", "ftp://a.test/x", "file:///etc/passwd", "https://u:p@a.test/",
        "https://", "gopher://a.test",
    ])
    func refusesARedirectToWhatItWouldNotFetch(location: String) throws {
        var machine = try Self.machine()
        _ = machine.received(Self.head(302, [("Location", location)]))
        let action = machine.finished(Self.done, bytesWritten: 0)
        #expect(Self.code(action) == .badRedirect)
    }

    /// An empty reference would mean the same URL (RFC 3986 §4.4), and the next request its folder.
    @Test(arguments: [[], [("Location", "")]] as [[(name: String, value: String)]])
    func refusesARedirectWithoutATarget(fields: [(name: String, value: String)]) throws {
        var machine = try Self.machine()
        _ = machine.received(Self.head(302, fields))
        #expect(Self.code(machine.finished(Self.done, bytesWritten: 0)) == .badRedirect)
        var delivering = ResponseStateMachine(
            url: try CurlURL("https://a.test/x"),
            redirectsMax: 10,
            deliversErrors: true
        )
        #expect(delivering.received(Self.head(302, fields)) == .receive)
    }

    @Test func followsAsManyRedirectsAsAllowedAndNoMore() throws {
        var machine = try Self.machine(redirectsMax: 3)
        for number in 1...4 {
            _ = machine.received(Self.head(302, [("Location", "/\(number)")]))
            let action = machine.finished(Self.done, bytesWritten: 0)
            if number <= 3 {
                guard case .follow = action else {
                    Issue.record("redirect \(number) was not followed")
                    return
                }
            } else {
                #expect(Self.code(action) == .badRedirect)
            }
        }
    }

    @Test(
        arguments: [
            (.truncated, .lengthMismatch), (.connectionLost, .connectionLost),
            (.timedOut(.inactivity), .timedOut), (.bodyTooLarge, .fileTooLarge),
            (.egressDenied, .egressDenied), (.badResponse, .badResponse),
        ] as [(CurlError.Code, TransferFailure.Code)]
    )
    func aBodyThatBreaksOffIsNoResult(cause: CurlError.Code, code: TransferFailure.Code) throws {
        var machine = try Self.machine()
        _ = machine.received(Self.head(200))
        let action = machine.finished(.failure(CurlError(cause)), bytesWritten: 5)
        #expect(Self.code(action) == code)
    }

    @Test func aFileThatCannotBeWrittenFailsTheAttemptWithItsReason() throws {
        var machine = try Self.machine()
        _ = machine.received(Self.head(200))
        machine.failed(TransferFailure(.storageFull, "full"))
        let action = machine.finished(.failure(CurlError(.aborted)), bytesWritten: 5)
        #expect(Self.code(action) == .storageFull)
    }

    @Test func anAbandonedAttemptEndsAsThatWhateverComes() throws {
        for result in [Self.done, .failure(CurlError(.cancelled)), .failure(CurlError(.aborted))] {
            var machine = try Self.machine()
            _ = machine.received(Self.head(200))
            machine.abandoned()
            machine.failed(TransferFailure(.storageFull, "full"))
            guard case .end(.abandoned) = machine.finished(result, bytesWritten: 5) else {
                Issue.record("not abandoned")
                return
            }
        }
    }

    @Test func anAbandonedAttemptFollowsNoRedirect() throws {
        var machine = try Self.machine()
        _ = machine.received(Self.head(302, [("Location", "/y")]))
        machine.abandoned()
        guard case .end(.abandoned) = machine.finished(Self.done, bytesWritten: 0) else {
            Issue.record("followed")
            return
        }
    }

    private static let point = ResponseStateMachine.ResumePoint(
        range: 60..<100,
        total: 100,
        validator: EntityValidator(stored: "\"1\"")
    )

    private static func resuming(expectedSize: Int64? = nil) throws -> ResponseStateMachine {
        ResponseStateMachine(
            url: try CurlURL("https://a.test/x"),
            redirectsMax: 10,
            expectedSize: expectedSize,
            resumePoint: point
        )
    }

    private static let rest = head(206, [("Content-Range", "bytes 60-99/100"), ("ETag", "\"1\"")])

    @Test func theRestOfTheBodyMakesItWhole() throws {
        var machine = try Self.resuming()
        #expect(machine.received(Self.rest) == .append)
        guard case .end(.finished(let result)) = machine.finished(Self.done, bytesWritten: 100)
        else {
            Issue.record("not finished")
            return
        }
        #expect(result.bytesReceived == 100)
        #expect(result.isLengthVerified)
    }

    @Test(arguments: [99, 101] as [Int64])
    func aRestOfAnotherLengthIsNoResult(bytesWritten: Int64) throws {
        var machine = try Self.resuming()
        _ = machine.received(Self.rest)
        let action = machine.finished(Self.done, bytesWritten: bytesWritten)
        #expect(Self.code(action) == .lengthMismatch)
    }

    @Test func aFileOfAnotherSizeThanExpectedIsNotResumed() throws {
        var machine = try Self.resuming(expectedSize: 99)
        #expect(machine.received(Self.rest) == .discard)
        #expect(Self.code(machine.finished(Self.done, bytesWritten: 60)) == .sizeMismatch)
    }

    @Test func ofTheRestNoMoreThanExpectedIsTaken() throws {
        var machine = try Self.resuming(expectedSize: 100)
        #expect(machine.received(Self.rest) == .append)
        let isRest = machine.received(bytes: 100)
        #expect(isRest)
        let isMore = machine.received(bytes: 101)
        #expect(!isMore)
        let end = machine.finished(.failure(CurlError(.aborted)), bytesWritten: 100)
        #expect(Self.code(end) == .sizeMismatch)
    }

    /// What is expected is the file, not the page that tells of an error.
    @Test func anErrorThatIsDeliveredMayBeLonger() throws {
        var machine = ResponseStateMachine(
            url: try CurlURL("https://a.test/x"),
            redirectsMax: 10,
            expectedSize: 1,
            deliversErrors: true
        )
        #expect(machine.received(Self.head(404)) == .receive)
        let isTaken = machine.received(bytes: 1000)
        #expect(isTaken)
    }

    @Test func whatDoesNotFitIsAskedForAnewAndAsAWhole() throws {
        for head in [
            Self.head(206), Self.head(416), Self.head(206, [("Content-Range", "bytes 0-99/100")]),
            Self.head(206, [("Content-Range", "bytes 60-99/100"), ("ETag", "\"2\"")]),
        ] {
            var machine = try Self.resuming()
            #expect(machine.resumePoint == Self.point)
            #expect(machine.received(head) == .discard)
            guard case .restart = machine.finished(Self.done, bytesWritten: 60) else {
                Issue.record("not restarted")
                return
            }
            #expect(machine.resumePoint == nil)
            // A part that was not requested is no answer to the second request.
            #expect(machine.received(Self.rest) == .discard)
            #expect(Self.code(machine.finished(Self.done, bytesWritten: 0)) == .badResponse)
        }
    }

    /// A server that ignores `If-Range` may send bytes of another version; only its tag tells.
    @Test(arguments: [
        ([("Content-Range", "bytes 60-99/100"), ("ETag", "\"1\"")], true),
        ([("Content-Range", "bytes 60-99/100"), ("ETag", "\"2\"")], false),
        ([("Content-Range", "bytes 60-99/100"), ("ETag", "W/\"1\"")], false),
        ([("Content-Range", "bytes 60-99/100")], false),
        ([("Content-Range", "bytes 60-99/101"), ("ETag", "\"1\"")], false),
        ([("Content-Range", "bytes 60-99/*"), ("ETag", "\"1\"")], false),
    ])
    func anotherServerHasToProveThatItHasTheSameBytes(
        fields: [(name: String, value: String)],
        isProof: Bool
    ) throws {
        var point = Self.point
        point.mayBeOfAnother = true
        var machine = ResponseStateMachine(
            url: try CurlURL("https://a.test/x"),
            redirectsMax: 10,
            resumePoint: point
        )
        #expect(machine.received(Self.head(206, fields)) == (isProof ? .append : .discard))
    }

    /// One tag for two codings is the server's fault; their bytes are not mixed.
    @Test(
        arguments: [
            (nil, "gzip", false), ("gzip", "GZIP", true), ("gzip", "br", false),
            ("gzip", nil, true),
            (nil, "identity", true),
        ] as [(String?, String?, Bool)]
    )
    func aPartInAnotherCodingIsNotMixedIn(kept: String?, named: String?, isSame: Bool) throws {
        var point = Self.point
        point.coding = kept
        var machine = ResponseStateMachine(
            url: try CurlURL("https://a.test/x"),
            redirectsMax: 10,
            resumePoint: point
        )
        let fields = [("Content-Range", "bytes 60-99/100"), ("ETag", "\"1\"")]
        let coding = named.map { [("Content-Encoding", $0)] } ?? []
        #expect(machine.received(Self.head(206, fields + coding)) == (isSame ? .append : .discard))
    }

    @Test func aWholeAnswerTakesThePlaceOfWhatWasKept() throws {
        var machine = try Self.resuming()
        #expect(machine.received(Self.head(200)) == .receive)
        #expect(machine.resumePoint == nil)
    }

    @Test func aRedirectIsAskedForTheRestToo() throws {
        var machine = try Self.resuming()
        _ = machine.received(Self.head(302, [("Location", "/y")]))
        guard case .follow = machine.finished(Self.done, bytesWritten: 60) else {
            Issue.record("not followed")
            return
        }
        #expect(machine.resumePoint == Self.point)
        #expect(machine.received(Self.rest) == .append)
    }

    @Test func anErrorOfTheOriginLeavesWhatWasKept() throws {
        var machine = try Self.resuming()
        #expect(machine.received(Self.head(503)) == .discard)
        #expect(Self.code(machine.finished(Self.done, bytesWritten: 60)) == .httpStatus)
    }
}
