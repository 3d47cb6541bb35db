import Testing
import TransferModel

@Suite struct KeptFieldsTests {
    @Test func fieldsAboutTheBytesAreKeptAndOthersNot() {
        let kept = KeptFields(of: [
            ("Date", "today"), ("Content-Type", "text/plain"), ("Set-Cookie", "secret"),
            ("X-Amz-Version-Id", "7"), ("Content-Length", "3"), ("WWW-Authenticate", "Basic"),
            ("Authentication-Info", "nextnonce=a"), ("Proxy-Authentication-Info", "nextnonce=a"),
        ])
        #expect(
            kept.fields == [
                HTTPHeader(name: "content-type", value: "text/plain"),
                HTTPHeader(name: "x-amz-version-id", value: "7"),
            ]
        )
        #expect(kept["x-amz-version-id"] == "7")
        #expect(kept["date"] == nil)
    }

    @Test func whatHEADIsAskedForIsKeptOfItsAnswerAlone() {
        let head: [(name: String, value: String)] = [
            ("Content-Length", "3"), ("Accept-Ranges", "bytes"), ("Content-Range", "x"),
        ]
        #expect(KeptFields(of: head).fields.isEmpty)
        #expect(
            KeptFields(of: head, describingContent: true).fields == [
                HTTPHeader(name: "content-length", value: "3"),
                HTTPHeader(name: "accept-ranges", value: "bytes"),
            ]
        )
    }

    /// A control character would end the line in which a field is stored.
    @Test(arguments: ["a\nb", "a\rb", "a\u{0}b", "a\u{7F}b"])
    func aValueWithAControlCharacterIsNotKept(value: String) {
        #expect(KeptFields(of: [("X-A", value)]).fields.isEmpty)
    }

    @Test func fieldsAreKeptUpToTheirBounds() {
        let long = String(repeating: "v", count: KeptFields.bytesMax)
        let kept = KeptFields(of: [("A", long), ("B", "b")])
        #expect(kept.fields == [HTTPHeader(name: "b", value: "b")])
        let many = KeptFields(of: (0..<100).map { ("F\($0)", "") })
        #expect(many.fields.count == KeptFields.countMax)
        let full = KeptFields(of: (0..<10).map { ("F\($0)", String(long.prefix(1000))) })
        #expect(full.fields.count == 4)
    }
}
