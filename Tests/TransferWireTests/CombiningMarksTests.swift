import Testing

@testable import TransferWire

/// Texts that would take long to compare; without their check these tests take minutes.
@Suite(.timeLimit(.minutes(2))) struct CombiningMarksTests {
    private static let marks = String(
        repeating: "\u{300}\u{323}\u{334}\u{345}\u{316}",
        count: 6000
    )
    private static let escapedMarks = String(
        repeating: #"\u0300\u0323\u0334\u0345\u0316"#,
        count: 6000
    )

    /// Returns the body `place` with `name` where it has an `@`.
    private static func text(_ place: String, named name: String) -> String {
        let parts = place.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.joined(separator: name)
    }

    @Test func aRowHasABound() {
        for mark: Unicode.Scalar in ["\u{300}", "\u{345}", "\u{5B0}", "\u{20D0}", "\u{1D165}"] {
            let most = String(repeating: Character(mark), count: CombiningMarks.rowMax)
            #expect(!CombiningMarks.areTooMany(in: most))
            #expect(!CombiningMarks.areTooMany(in: "\(most)a\(most)é\(most)"))
            #expect(CombiningMarks.areTooMany(in: "a\(most)é\(mark)\(most)"))
        }
        #expect(CombiningMarks.areTooMany(in: Self.marks))
    }

    @Test(arguments: ["", "a", "naïve", "e\u{301}\u{323}", "한국어", "हिन्दी", "ภาษาไทย", "😀👨‍👩‍👧"])
    func textsOfAllLanguagesHaveFewer(text: String) {
        #expect(!CombiningMarks.areTooMany(in: String(repeating: text, count: 100)))
    }

    /// Every place in which a task has a name, also such as no task may have.
    @Test(arguments: [
        #"{"url":"x","@":1}"#, #"{"@":1}"#, #"{"url":"x", "@" : 1e2}"#, #"{"url":"x","a":{"@":1}}"#,
        #"{"url":"x","a":[{"@":null}]}"#, #"{"url":"x","headers":{"@":"y"}}"#,
        #"{"url":"x","destination":{"path":"a","@":1}}"#,
        #"{"components":{"scheme":"http","host":"h","@":1}}"#,
        #"{"components":{"scheme":"http","host":"h","query_items":[{"name":"a","@":1}]}}"#,
        #"{"url":"x","upload":{"@":1}}"#, #"{"url":"x","upload":{"copy":{"@":1}}}"#,
        #"{"url":"x","upload":{"copy":{"url":"y","headers":{"@":"z"}}}}"#,
        #"{"url":"x","body":{"@":1}}"#, #"{"url":"x","body":{"json":{"@":1}}}"#,
        #"{"url":"x","body":{"json":[[{"a":{"@":1}}]]}}"#,
        #"{"url":"x","body":{"form":[{"name":"a","value":"b","@":1}]}}"#,
        #"{"url":"x","body":{"multipart":[{"name":"a","@":1}]}}"#,
    ])
    func aNameOfManyIsRefusedWithoutBeingCompared(place: String) throws {
        for name in ["a\(Self.marks)", "a\(Self.escapedMarks)", Self.marks] {
            let task = Self.text(place, named: name)
            let only = try SubmitRequest.tasks(in: task).tasks[0]
            #expect(throws: FieldError.tooManyMarks) { try only.result.get() }
            let last = try SubmitRequest.tasks(in: #"[{"url":"x"},\#(task)]"#).tasks[1]
            #expect(throws: FieldError.tooManyMarks) { try last.result.get() }
            #expect(throws: WireDecoder.Failure.invalid(.tooManyMarks)) {
                try Checked<TaskRequest>(json: Array(task.utf8))
            }
        }
    }

    @Test func noOtherBodyHasSuchAName() {
        func refuses<Body: Decodable>(_ type: Body.Type, _ place: String) {
            let text = Self.text(place, named: "a\(Self.marks)")
            #expect(throws: WireDecoder.Failure.invalid(.tooManyMarks), "\(type)") {
                try WireDecoder.decode(type, from: Array(text.utf8))
            }
        }
        refuses(JSONValue.self, #"{"@":1}"#)
        refuses(BackgroundSettingsPatchRequest.self, #"{"@":1}"#)
        refuses(SessionRequest.self, #"{"configuration":{"@":1}}"#)
        refuses(SessionRequest.self, #"{"configuration":{"additional_headers":{"@":"b"}}}"#)
        refuses(SubscriptionRequest.self, #"{"headers":{"@":"b"}}"#)
        refuses(TaskPatchRequest.self, #"{"@":1}"#)
    }

    /// A text with as many colons is not read once for each.
    @Test func whatIsNoJSONIsNotReadAgainAndAgain() {
        let colons = String(repeating: ":", count: 1_000_000)
        let text = "\"\(String(repeating: "한", count: 60_000))\"\(colons)"
        #expect(!JSONNames.haveTooManyMarks(in: Array(text.utf8)[...]))
    }

    @Test func aWordOfManyIsUnknown() throws {
        let text = #"{"disposition":"a\#(String(repeating: Self.marks, count: 20))"}"#
        #expect(throws: WireDecoder.Failure.self) {
            try WireDecoder.decode(BeginRequest.self, from: Array(text.utf8))
        }
    }

    /// What is only passed on may have any number of them, and keeps its bytes.
    @Test(arguments: [
        #"{"url":"x","client_persisted_string":"@"}"#, #"{"url":"x","body":{"text":"@"}}"#,
    ])
    func aValueOfManyIsKept(place: String) throws {
        for rare in ["", #", "priority": 1e0}"#] {
            var text = Self.text(place, named: Self.marks)
            if !rare.isEmpty { text = "\(text.dropLast())\(rare)" }
            let task = try SubmitRequest.tasks(in: text).tasks[0].result.get()
            let kept = try #require(task.clientPersistedString ?? task.body?.text)
            #expect(kept.utf8.elementsEqual(Self.marks.utf8))
        }
    }

    @Test func namesOfAllLanguagesAreRead() throws {
        let most = "a" + String(repeating: "\u{301}", count: CombiningMarks.rowMax)
        let json = #"{"\#(most)":1,"\#(most)b\#(most)":2,"한국어":3,"na\u00efve":4}"#
        let text = #"{"url":"x","body":{"json":\#(json)}}"#
        let task = try SubmitRequest.tasks(in: text).tasks[0].result.get()
        let decoded = try WireDecoder.decode(JSONValue.self, from: Array(json.utf8))
        #expect(task.body?.json == decoded)
        guard case .object(let members) = decoded else {
            Issue.record("no object")
            return
        }
        #expect(members.count == 4)
    }
}
