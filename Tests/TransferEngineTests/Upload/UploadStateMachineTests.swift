import Curl
import Testing
import TransferModel

@testable import TransferEngine

/// Traces of one upload: heads go in, the next request comes out.
@Suite struct UploadStateMachineTests {
    private static let url = "https://a.test/in"

    private static func claim(
        isIdempotent: Bool = true,
        resource: UploadResource? = nil
    ) -> TaskClaim {
        var options = TransferOptions()
        options.isIdempotent = isIdempotent
        var claim = TaskClaim(
            task: TaskID(.version7()),
            fence: Fence(rawValue: 7),
            tenant: TenantID(.version7()),
            session: SessionID(.version7()),
            hostKey: HostKey(rawValue: 1),
            number: 1,
            url: url,
            request: TransferRequest(upload: .data([])),
            headers: [],
            destination: nil,
            timeoutForRequest: .seconds(60),
            timeoutForResource: .seconds(60),
            options: options
        )
        claim.uploadResource = resource
        return claim
    }

    private static func machine(
        _ dialect: ResumableUpload,
        isIdempotent: Bool = true,
        isKnown: Bool = false,
        length: Int64 = 100
    ) throws -> UploadStateMachine {
        let known = UploadResource(
            fence: Fence(rawValue: 3),
            dialect: dialect,
            url: "https://a.test/place",
            isAtOrigin: true,
            body: "1"
        )
        return try UploadStateMachine(
            dialect,
            of: claim(isIdempotent: isIdempotent, resource: isKnown ? known : nil),
            url: CurlURL(url),
            length: length,
            body: "1"
        )
    }

    private static func head(_ status: Int, _ fields: KeyValuePairs<String, String>) -> ResponseHead
    {
        ResponseHead(status: status, headers: fields.map { (name: $0.key, value: $0.value) })
    }

    /// Hands over a head; returns the next step, nil for an ordinary answer.
    private static func step(
        _ machine: inout UploadStateMachine,
        after status: Int,
        _ fields: KeyValuePairs<String, String> = [:],
        sent: Int64 = 100
    ) throws -> UploadStateMachine.Step? {
        let reading = machine.received(
            head(status, fields),
            from: machine.target,
            isAtOrigin: true,
            sent: sent
        )
        switch reading {
        case .ordinary: return nil
        case .next: return machine.step
        case .failed(let failure): throw failure
        }
    }

    @Test(arguments: [
        (ResumableUpload.ietf, UploadStateMachine.Step.whole), (.tus, .creation),
        (.contentRange, .creation),
    ])
    func beginsAsTheProtocolWantsAndContinuesWithAQuestion(
        dialect: ResumableUpload,
        first: UploadStateMachine.Step
    ) throws {
        #expect(try Self.machine(dialect).step == first)
        let known = try Self.machine(dialect, isKnown: true)
        #expect(known.step == .offset)
        #expect(known.target.absoluteString == "https://a.test/place")
        #expect(known.mayBeResumed)
    }

    @Test func thePlaceIsTheFirstThatA104Names() throws {
        var machine = try Self.machine(.ietf)
        func told(_ status: Int, _ location: String, _ version: String = "8") throws -> Bool {
            try machine.received(
                informational: Self.head(
                    status,
                    ["Location": location, "Upload-Draft-Interop-Version": version]
                ),
                from: CurlURL(Self.url),
                isAtOrigin: true
            )
        }
        #expect(try !told(103, "/early"))
        #expect(try !told(104, "https://other.test/1"))
        #expect(try !told(104, "http://a.test/1"))
        #expect(try !told(104, "/" + String(repeating: "x", count: 8192)))
        #expect(try !told(104, "/1", "3"))
        #expect(try told(104, "/1?key=a"))
        #expect(try !told(104, "/2"))
        #expect(machine.resource?.url == "https://a.test/1?key=a")
        #expect(!machine.mayBeResumed)
        let resource = try #require(machine.resource)
        machine.kept(resource)
        #expect(machine.mayBeResumed)
    }

    /// Whatever was stored of a place, a URL of another origin has other secrets.
    @Test(arguments: [
        ("https://a.test/in", true), ("https://b.test/in", false), ("http://a.test/in", false),
        ("https://a.test:444/in", false),
    ])
    func secretsAreForTheOriginOfTheURLAsItIs(url: String, isAtOrigin: Bool) throws {
        let known = UploadResource(
            fence: Fence(rawValue: 3),
            dialect: .tus,
            url: "https://a.test/place",
            isAtOrigin: true,
            body: "1"
        )
        let machine = try UploadStateMachine(
            .tus,
            of: Self.claim(resource: known),
            url: CurlURL(url),
            length: 100,
            body: "1"
        )
        #expect(machine.step == .offset)
        #expect(machine.isAtOrigin == isAtOrigin)
    }

    @Test func aCompleteUploadNeedsNothingMore() throws {
        var ietf = try Self.machine(.ietf, isKnown: true)
        #expect(try Self.step(&ietf, after: 204, ["Upload-Complete": "?1"]) == nil)
        var tus = try Self.machine(.tus, isKnown: true)
        #expect(try Self.step(&tus, after: 200, ["Upload-Offset": "100"]) == nil)
        var range = try Self.machine(.contentRange, isKnown: true)
        #expect(try Self.step(&range, after: 200) == nil)
    }

    /// All bytes are there, but nobody has said that they are all.
    @Test func theEndMayHaveToBeSaid() throws {
        var ietf = try Self.machine(.ietf, isKnown: true)
        let fields: KeyValuePairs = ["Upload-Offset": "100", "Upload-Complete": "?0"]
        #expect(try Self.step(&ietf, after: 204, fields) == .rest(from: 100))
        #expect(ietf.headers(of: []).contains { $0.name == "Upload-Complete" && $0.value == "?1" })
        var range = try Self.machine(.contentRange, isKnown: true)
        #expect(try Self.step(&range, after: 308, ["Range": "bytes=0-99"]) == .rest(from: 100))
        #expect(range.headers(of: []).map(\.value) == ["bytes */100"])
    }

    @Test func aRangeTellsWhatIsThere() throws {
        var machine = try Self.machine(.contentRange)
        #expect(try Self.step(&machine, after: 200, ["Location": "/1"]) == .rest(from: 0))
        #expect(machine.headers(of: []).map(\.value) == ["bytes 0-99/100"])
        #expect(try Self.step(&machine, after: 308, ["Range": "bytes=0-41"]) == .rest(from: 42))
        #expect(machine.headers(of: []).map(\.value) == ["bytes 42-99/100"])
        for range in ["bytes=1-50", "bytes=0-", "bytes=0-41", "bytes=0-100", "0-50"] {
            var copy = machine
            #expect(throws: TransferFailure.self) {
                try Self.step(&copy, after: 308, ["Range": range])
            }
        }
        // A 308 with a place is a redirect.
        #expect(try Self.step(&machine, after: 308, ["Location": "/2"]) == nil)
        let range: KeyValuePairs = ["Location": "", "Range": "bytes=0-42"]
        #expect(try Self.step(&machine, after: 308, range) == .rest(from: 43))
    }

    @Test(arguments: [ResumableUpload.tus, .ietf, .contentRange])
    func anEmptyPlaceIsNone(dialect: ResumableUpload) throws {
        var machine = try Self.machine(dialect)
        if dialect == .ietf {
            let isNew = try machine.received(
                informational: Self.head(
                    104,
                    ["Location": "", "Upload-Draft-Interop-Version": "8"]
                ),
                from: CurlURL(Self.url),
                isAtOrigin: true
            )
            #expect(!isNew)
        } else {
            #expect(throws: TransferFailure.self) {
                try Self.step(&machine, after: 201, ["Location": ""])
            }
        }
    }

    @Test func contradictionsEnd() throws {
        var machine = try Self.machine(.tus, isKnown: true)
        let fields: KeyValuePairs = ["Upload-Offset": "10"]
        for _ in 0..<UploadStateMachine.conflictsMax {
            #expect(try Self.step(&machine, after: 200, fields) == .rest(from: 10))
            #expect(try Self.step(&machine, after: 409) == .offset)
        }
        #expect(try Self.step(&machine, after: 200, fields) == .rest(from: 10))
        #expect(throws: TransferFailure.self) { try Self.step(&machine, after: 409) }
    }

    @Test(arguments: ["99", "101"])
    func anotherLengthOfTheBodyIsAContradiction(length: String) throws {
        var machine = try Self.machine(.tus, isKnown: true)
        let fields: KeyValuePairs = ["Upload-Offset": "10", "Upload-Length": length]
        #expect(throws: TransferFailure.self) { try Self.step(&machine, after: 200, fields) }
    }

    @Test func requestsAreBounded() throws {
        var machine = try Self.machine(.tus, isKnown: true, length: 10_000)
        #expect(throws: TransferFailure.self) {
            for offset in 1...UploadStateMachine.requestsMax {
                _ = try Self.step(&machine, after: 204, ["Upload-Offset": "\(offset)"])
            }
        }
        #expect(machine.step == .rest(from: Int64(UploadStateMachine.requestsMax - 1)))
    }

    @Test func aLostPlaceIsReplacedOnce() throws {
        var machine = try Self.machine(.tus, isKnown: true)
        #expect(try Self.step(&machine, after: 410) == .creation)
        #expect(machine.unusable?.fence == Fence(rawValue: 3))
        #expect(try Self.step(&machine, after: 201, ["Location": "/2"]) == .rest(from: 0))
        #expect(machine.unusable == nil)
        #expect(machine.awaitsKeeping)
        #expect(throws: TransferFailure.self) { try Self.step(&machine, after: 404) }
        var unrepeatable = try Self.machine(.tus, isIdempotent: false, isKnown: true)
        #expect {
            try Self.step(&unrepeatable, after: 404)
        } throws: {
            ($0 as? TransferFailure)?.code == .unknownOutcome
        }
    }

    /// Begins an upload of the draft whose origin has named a place.
    private static func named() throws -> UploadStateMachine {
        var machine = try Self.machine(.ietf)
        _ = machine.received(
            informational: head(
                104,
                ["Location": "/1", "Upload-Draft-Interop-Version": "8"]
            ),
            from: try CurlURL(url),
            isAtOrigin: true
        )
        return machine
    }

    /// What an origin thinks of a body that it has is not asked for again.
    @Test(
        arguments: [
            (500, nil, Int64(100), false), (500, nil, 40, true), (500, "?1", 40, false),
            (500, "?0", 100, true), (422, nil, 40, false), (429, nil, 40, true),
            (408, nil, 40, true), (423, nil, 40, true), (425, nil, 40, true),
        ] as [(Int, String?, Int64, Bool)]
    )
    func aRefusalEndsThePlace(
        status: Int,
        complete: String?,
        sent: Int64,
        isKept: Bool
    ) throws {
        var machine = try Self.named()
        machine.kept(try #require(machine.resource))
        let fields: KeyValuePairs = complete.map { ["Upload-Complete": $0] } ?? [:]
        #expect(try Self.step(&machine, after: status, fields, sent: sent) == nil)
        #expect(machine.mayBeResumed == isKept)
        #expect((machine.unusable == nil) == isKept)
    }

    /// The answer may be there before the place is kept, which it then is all the same.
    @Test(arguments: [(500, false), (422, false), (429, true)])
    func aRefusalEndsAPlaceThatIsNotKeptYet(status: Int, remains: Bool) throws {
        var machine = try Self.named()
        let resource = try #require(machine.resource)
        #expect(try Self.step(&machine, after: status, sent: remains ? 40 : 100) == nil)
        machine.kept(resource)
        #expect(machine.mayBeResumed == remains)
        #expect(machine.unusable == (remains ? nil : resource))
    }

    /// Proxies drop the 104, and an answer without the word says that there is more to come.
    @Test func whatIsNotSaidToBeCompleteIsNot() throws {
        var machine = try Self.machine(.ietf)
        let part: KeyValuePairs = ["Upload-Complete": "?0", "Upload-Offset": "40"]
        var nameless = machine
        #expect(throws: TransferFailure.self) { try Self.step(&nameless, after: 201, part) }
        let named: KeyValuePairs = ["Location": "/1", "Upload-Complete": "?0"]
        #expect(try Self.step(&machine, after: 201, named) == .offset)
        #expect(machine.awaitsKeeping)
        #expect(try Self.step(&machine, after: 204, part) == .rest(from: 40))
        #expect(try Self.step(&machine, after: 204, ["Upload-Offset": "60"]) == .rest(from: 60))
        #expect(try Self.step(&machine, after: 204) == .offset)
        #expect(try Self.step(&machine, after: 204, ["Upload-Offset": "60"]) == .rest(from: 60))
        #expect(try Self.step(&machine, after: 204, ["Upload-Offset": "100"]) == .offset)
        #expect(try Self.step(&machine, after: 204, ["Upload-Complete": "?1"]) == nil)
    }

    @Test(
        arguments: [
            (ResumableUpload.ietf, 500, Int64(100), false), (.ietf, 500, 70, true),
            (.ietf, 422, 70, false), (.ietf, 401, 70, true), (.ietf, 503, 100, true),
            (.tus, 500, 100, false), (.tus, 422, 100, false), (.tus, 502, 100, true),
            (.tus, 423, 100, true), (.contentRange, 500, 100, true),
        ]
    )
    func aRefusalOfTheRestEndsThePlace(
        dialect: ResumableUpload,
        status: Int,
        sent: Int64,
        isKept: Bool
    ) throws {
        var machine = try Self.machine(dialect, isKnown: true)
        let fields: KeyValuePairs = ["Upload-Offset": "40", "Range": "bytes=0-39"]
        let asked = dialect == .contentRange ? 308 : 200
        #expect(try Self.step(&machine, after: asked, fields) == .rest(from: 40))
        #expect(try Self.step(&machine, after: status, sent: sent) == nil)
        #expect(machine.mayBeResumed == isKept)
    }

    @Test(arguments: [(true, TransferFailure.Code.badResponse), (false, .unknownOutcome)])
    func aPartThatIsCalledCompleteIsAContradiction(
        isIdempotent: Bool,
        code: TransferFailure.Code
    ) throws {
        var machine = try Self.machine(.ietf, isIdempotent: isIdempotent, isKnown: true)
        let fields: KeyValuePairs = ["Upload-Complete": "?1", "Upload-Offset": "50"]
        let failure = #expect(throws: TransferFailure.self) {
            try Self.step(&machine, after: 204, fields)
        }
        #expect(failure?.code == code)
        #expect(machine.unusable != nil)
    }

    /// An upload of no bytes is done by its creation, which must not be repeated then.
    @Test func theCreationOfAnEmptyUploadIsItsEnd() throws {
        let empty = try Self.machine(.tus, length: 0)
        #expect(empty.hasEffects && !empty.mayBeResumed)
        let other = try Self.machine(.tus, length: 1)
        #expect(!other.hasEffects && other.mayBeResumed)
    }
}
