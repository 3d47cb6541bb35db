import Foundation
import Testing
import TransferWire

/// What a client sends is what the service reads, and the other way round.
@Suite struct TwoWayTests {
    /// Encodes a request, decodes it as the service does, and encodes it again.
    private func roundTrip<Request: Codable>(_ request: Request) throws -> (String, String) {
        let once = try WireEncoder.encode(request)
        let twice = try WireEncoder.encode(try WireDecoder.decode(Request.self, from: once))
        return (String(decoding: once, as: UTF8.self), String(decoding: twice, as: UTF8.self))
    }

    @Test func readsATaskAsItWasWritten() throws {
        var options = OptionMembers()
        options.values = [
            "segments_max": .integer(4), "retry": .object(["delay_base": .number(1.5)]),
        ]
        let request = TaskRequest(
            target: .components(
                URLComponentsRequest(
                    scheme: "https",
                    host: "example.com",
                    path: "/a",
                    queryItems: [URLQueryItemRequest(name: "q", value: "1"), .init(name: "r")]
                )
            ),
            headers: ["X-A": "b"],
            clientPersistedString: "a\u{0}é",
            earliestBeginAt: Timestamp(Date(timeIntervalSince1970: 0)),
            autostart: false,
            priority: 0.25,
            destination: DestinationRequest(path: "d", overwrite: true),
            options: options,
            kind: "upload",
            method: "POST",
            upload: UploadRequest(body: BodyRequest(base64: "AAAA"))
        )
        let (once, twice) = try roundTrip(request)
        #expect(once == twice)
        // The reader of submissions reads the same.
        let read = try SubmitRequest.tasks(in: once).tasks[0].result.get()
        #expect(try String(decoding: WireEncoder.encode(read), as: UTF8.self) == once)
        #expect(once.contains(#""segments_max":4"#) && once.contains(#""host":"example.com""#))
        #expect(!once.contains("resume_data"))
    }

    @Test func tellsNullFromAbsent() throws {
        let clearing = TaskPatchRequest(
            earliestBeginAt: .some(nil),
            priority: .some(.some(1))
        )
        let (once, twice) = try roundTrip(clearing)
        #expect(once == #"{"earliest_begin_at":null,"priority":1}"#)
        #expect(twice == once)
        #expect(
            try roundTrip(LeaseRequest(leaseSeconds: .some(nil))).1 == #"{"lease_seconds":null}"#
        )
        #expect(try roundTrip(LeaseRequest()).1 == "{}")
        let subscription = SubscriptionPatchRequest(
            enabled: .some(nil),
            headers: .some(["A": nil, "B": "c"])
        )
        #expect(
            try roundTrip(subscription).1 == #"{"enabled":null,"headers":{"A":null,"B":"c"}}"#
        )
    }

    @Test func readsOtherRequestsAsTheyWereWritten() throws {
        let configuration = SessionConfigurationRequest(
            additionalHeaders: ["A": "b"],
            resultRetention: 60,
            isDiscretionary: true
        )
        let session = SessionRequest(kind: "background", configuration: configuration)
        #expect(
            try roundTrip(session).1
                == #"{"configuration":{"additional_headers":{"A":"b"},"is_discretionary":true,"#
                + #""result_retention":60},"kind":"background"}"#
        )
        let challenge = ChallengeRequest(disposition: .use, credential: .named("c"))
        #expect(try roundTrip(challenge).1 == #"{"credential":"c","disposition":"use"}"#)
        let begin = BeginRequest(
            disposition: .useNewRequest,
            request: BeginRequest.Replacement(target: .url("http://a/"))
        )
        #expect(
            try roundTrip(begin).1
                == #"{"disposition":"use_new_request","request":{"url":"http://a/"}}"#
        )
    }

    @Test func readsAnAnswerWithMembersThatAreNewer() throws {
        let bytes = Array(#"{"cron": "0 0 * * *", "moon": "full"}"#.utf8)
        let answer = try WireDecoder.decode(RecurrenceDocument.self, fromAnswer: bytes)
        #expect(answer.cron == "0 0 * * *")
        #expect(throws: WireDecoder.Failure.self) {
            try WireDecoder.decode(RecurrenceDocument.self, from: bytes)
        }
    }

    @Test func keepsACodeThatIsNewer() throws {
        let text = #"{"code":"bluish","detail":"Is blue.","pointer":"/a"}"#
        let fault = try WireDecoder.decode(FieldError.self, fromAnswer: Array(text.utf8))
        #expect(fault.code == nil && fault.codeName == "bluish")
        let moved = fault.moved(to: "/3")
        #expect(moved.pointer == "/3/a" && moved.codeName == "bluish")
        #expect(String(decoding: try WireEncoder.encode(fault), as: UTF8.self) == text)
    }
}
