import Testing

@testable import TransferWire

@Suite struct JSONNamesTests {
    @Test(arguments: [
        #"{"a":1,"a":1}"#, #"[{}, {"a":{"b":[1,{"c":1}],"b":2}}]"#, #"{"a":"\\","\u0061":"b"}"#,
        "{\"\u{E9}\":1,\"e\u{301}\":2}", #"{"\u00e9":1,"x":{"y":1},"e\u0301":2}"#,
        #"{"a,{\"":1 , "a,{\"" : 2}"#,
    ])
    func equalNamesInAnObjectAreRepeated(text: String) throws {
        #expect(JSONNames.areRepeated(in: Array(text.utf8)[...]))
        #expect(throws: WireDecoder.Failure.invalid(.repeatedNames)) {
            try WireDecoder.decode(JSONValue.self, from: Array(text.utf8))
        }
    }

    @Test(arguments: [
        "{}", "[]", "1", #""a""#, #"{"a":"a","b":"a"}"#, #"[{"a":1},{"a":1}]"#,
        #"{"a":{"a":{"a":["a","a"]}},"b":["a","a"]}"#, #"{"a":"\"","b":"\"a\"","\\":{},"":[]}"#,
        #"{"a":1,"A":1,"é":1,"e":1}"#,
    ])
    func namesOfSeveralObjectsAreNot(text: String) throws {
        #expect(!JSONNames.areRepeated(in: Array(text.utf8)[...]))
        _ = try WireDecoder.decode(JSONValue.self, from: Array(text.utf8))
    }
}
