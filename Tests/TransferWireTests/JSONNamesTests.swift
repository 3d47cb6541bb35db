import Testing

@testable import TransferWire

@Suite struct JSONNamesTests {
    @Test(arguments: [
        (#"{"a":1,"a":1}"#, "/a"), (#"[{}, {"a":{"b":[1,{"c":1}],"b":2}}]"#, "/1/a/b"),
        (#"{"a":"\\","\u0061":"b"}"#, "/a"), ("{\"\u{E9}\":1,\"e\u{301}\":2}", "/e\u{301}"),
        (#"{"\u00e9":1,"x":{"y":1},"e\u0301":2}"#, "/e\u{301}"),
        (#"{"a,{\"":1 , "a,{\"" : 2}"#, "/a,{\""),
        (#"{"a":[[],{"b":[1,2],"c/":[0,{"d":{},"d":""}]}]}"#, "/a/1/c~1/1/d"),
    ])
    func equalNamesInAnObjectAreRepeated(text: String, place: String) throws {
        #expect(JSONNames.repeated(in: Array(text.utf8)[...]) == place)
        #expect(throws: WireDecoder.Failure.invalid(.repeatedName(at: place))) {
            try WireDecoder.decode(JSONValue.self, from: Array(text.utf8))
        }
    }

    /// An answer would repeat the body otherwise.
    @Test func aLongPointerEndsAtAValueAround() throws {
        let long = String(repeating: "n", count: JSONNames.pointerBytesMax)
        let fits = String(long.dropLast())
        // Each has two bytes in a pointer.
        let slashes = String(repeating: "/", count: JSONNames.pointerBytesMax / 2)
        for (text, place) in [
            (#"{"\#(fits)":1,"\#(fits)":1}"#, "/\(fits)"),
            (#"{"\#(long)":1,"\#(long)":1}"#, ""), (#"{"\#(slashes)":1,"\#(slashes)":1}"#, ""),
            (#"{"a":[{"\#(long)":1,"\#(long)":1}]}"#, "/a/0"),
            (#"{"a":{"\#(long)":{"b":1,"b":1}}}"#, "/a"),
        ] {
            #expect(JSONNames.repeated(in: Array(text.utf8)[...]) == place)
        }
        let sent = #"{"url":"x","body":{"json":{"\#(long)":1,"\#(long)":2}}}"#
        let result = try SubmitRequest.tasks(in: sent).tasks.first?.result
        guard case .failure(let fault)? = result else {
            Issue.record("read")
            return
        }
        #expect(fault.pointer == "/body/json" && fault.detail.contains("`text`"))
    }

    /// Where it is sent on, and not read, both may be wanted.
    @Test(arguments: [
        (#"{"url":"x","url":"y"}"#, false), (#"{"url":"x","headers":{"A":"b","A":"c"}}"#, false),
        (#"{"url":"x","body":{"json":{"a":1,"a":2}}}"#, true),
        (#"{"url":"x","upload":{"body":{"json":[{"a":1,"a":2}]}}}"#, true),
    ])
    func onlyOfWhatIsSentBothCanBeGiven(text: String, isSent: Bool) throws {
        for body in [text, "[\(text)]"] {
            let result = try SubmitRequest.tasks(in: body).tasks.first?.result
            guard case .failure(let fault)? = result else {
                Issue.record("read")
                continue
            }
            #expect(fault.detail.contains("`text`") == isSent)
        }
    }

    @Test(arguments: [
        "{}", "[]", "1", #""a""#, #"{"a":"a","b":"a"}"#, #"[{"a":1},{"a":1}]"#,
        #"{"a":{"a":{"a":["a","a"]}},"b":["a","a"]}"#, #"{"a":"\"","b":"\"a\"","\\":{},"":[]}"#,
        #"{"a":1,"A":1,"é":1,"e":1}"#,
    ])
    func namesOfSeveralObjectsAreNot(text: String) throws {
        #expect(JSONNames.repeated(in: Array(text.utf8)[...]) == nil)
        _ = try WireDecoder.decode(JSONValue.self, from: Array(text.utf8))
    }
}
