import Testing
import TransferTestSupport

@testable import TransferWire

@Suite struct JSONReaderTests {
    private func read(_ text: String) throws -> TaskRequest { try read(Array(text.utf8)) }

    private func read(_ bytes: [UInt8]) throws -> TaskRequest {
        var reader = try JSONReader(bytes)
        let task = try TaskRequest(from: &reader)
        try reader.finish()
        return task
    }

    private func decode(_ bytes: [UInt8]) throws -> TaskRequest {
        try WireDecoder.decode(Checked<TaskRequest>.self, from: bytes).result.get()
    }

    /// Texts that clients write every day.
    private static let usual = [
        #"{"url":"http://origin.example/"}"#,
        " {\n\t\"url\" : \"http://origin.example/\" ,\r\n\"autostart\" : false } ",
        #"{"url": "x", "headers": {"Accept": "a\/b", "X": ""}, "priority": 0.25}"#,
        #"{"url": "x", "headers": {}, "priority": 1, "method": "GET", "kind": "download"}"#,
        #"{"url": "x", "client_persisted_string": "e\u0301 \ud83d\ude00 \"\\\b\f\n\r\t é 😀"}"#,
        #"{"url": "x", "earliest_begin_at": "2030-01-01T00:00:00+01:00", "resume_data": "y"}"#,
        #"{"url": "x", "destination": {"path": "a/b", "overwrite": true}}"#,
        #"{"url": "x", "destination": {"path": "a/b"}, "headers": null, "kind": null}"#,
        #"{"url": "x", "components": null, "upload": null, "body": null, "priority": null}"#,
        #"{"components": {"scheme": "https", "host": "h", "port": 8443, "path": "/a"}, "url": null}"#,
        #"{"components": {"scheme": "http", "host": "h", "query_items": [{"name": "a", "value": "b"},"#
            + #"{"name": "c"}, {"name": "d", "value": null}]}}"#,
        #"{"url": "x", "kind": "upload", "upload": {"path": "a/b"}}"#,
        #"{"url": "x", "kind": "upload", "upload": {"staged": true, "body": null}}"#,
        #"{"url": "x", "kind": "upload", "upload": {"body": {"base64": "AA=="}}}"#,
        #"{"url": "x", "kind": "data", "body": {"text": "a\nb"}, "method": "POST"}"#,
        #"{"url": "x", "body": {"json": {"a": [1, 2.5, "c", null, true]}}}"#,
        #"{"url": "x", "body": {"json": null, "form": [{"name": "a", "value": "b"}]}}"#,
        #"{"url": "x", "body": {"multipart": [{"name": "a", "text": "b", "filename": null},"#
            + #"{"name": "c", "base64": "AA==", "filename": "d", "content_type": "image/png"}]}}"#,
        #"{"url": "x", "timeout_for_request": 30, "a": [1, -2, 0.5, [], {}], "b": null}"#,
        #"{"url": "x", "a": {"b": {"c": null, "d": [true, false, "e"]}}, "f": 1.0, "g": 0}"#,
    ]

    @Test(arguments: usual)
    func usualFormsAreReadAsTheDecoderReadsThem(text: String) throws {
        #expect(try read(text).isSame(as: decode(Array(text.utf8))))
    }

    /// Texts that are wrong, and some that are right and left to the decoder.
    @Test(arguments: [
        "", " ", "{", "{}", "[]", "null", "17", #""x""#, #"{"url"}"#, #"{"url":}"#, #"{"url":1}"#,
        #"{"url":"x"}x"#, #"{"url":"x",}"#, #"{,"url":"x"}"#, #"{"url":"x" "kind":"y"}"#,
        #"{"url":null}"#, #"{"url":"x","url":"y"}"#, #"{"url":"x","kind":null,"kind":"y"}"#,
        #"{"url":"x","a":1,"a":2}"#, #"{"url":"x","headers":{"A":"b","A":"c"}}"#,
        #"{"url":"x","a":{"b":1,"b":1}}"#, #"{"url":"x","headers":{"A":1}}"#,
        #"{"url":"x","headers":[]}"#, #"{"url":"x","autostart":1}"#,
        #"{"url":"x","autostart":tru}"#,
        #"{"url":"x","priority":01}"#, #"{"url":"x","priority":.5}"#, #"{"url":"x","priority":1.}"#,
        #"{"url":"x","priority":+1}"#, #"{"url":"x","priority":-}"#, #"{"url":"x","priority":1e0}"#,
        #"{"url":"x","priority":-0}"#, #"{"url":"x","priority":0.1234567890123456}"#,
        #"{"url":"x","a":1234567890123456}"#, #"{"url":"x","a":[1,]}"#, #"{"url":"x","a":[,1]}"#,
        #"{"url":"x","a":[[[[[[[[[]]]]]]]]]}"#, #"{"url":"\x"}"#, #"{"url":"\ud83d"}"#,
        #"{"url":"\ud83dx\ude00"}"#, #"{"url":"\ude00"}"#, #"{"url":"\ud83d\u0041"}"#,
        #"{"url":"\u00"}"#, #"{"url":"\u00g0"}"#, "{\"url\":\"a\tb\"}", "{\"url\":\"a\\n\tb\"}",
        #"{"url":"x","destination":{}}"#, #"{"url":"x","destination":{"path":"a","mode":1}}"#,
        #"{"url":"x","earliest_begin_at":"tomorrow"}"#, "\u{FEFF}{\"url\":\"x\"}",
        #"{"url":"x","components":{}}"#, #"{"url":"x","components":{"scheme":"http","host":"h"}}"#,
        #"{"components":{"scheme":"http","host":"h","port":1.5}}"#,
        #"{"components":{"scheme":"http","host":"h","query_items":[{"value":"a"}]}}"#,
        #"{"url":"x","upload":{"path":"a","a":1}}"#, #"{"url":"x","body":{"a":1}}"#,
        #"{"url":"x","body":{"form":[{"name":"a"}]}}"#, #"{"url":"x","body":{"json":1e999}}"#,
        #"{'url':'x'}"#, "{\"url\":\u{A0}\"x\"}",
    ])
    func theRestIsRefused(text: String) {
        #expect(throws: JSONReader.Refusal.self) { try read(text) }
    }

    @Test func textsThatAreNotUTF8AreRefused() {
        for text: [UInt8] in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xC3]] {
            let body = Array(#"{"url":""#.utf8) + text + Array(#""}"#.utf8)
            #expect(throws: JSONReader.Refusal.self) { try read(body) }
        }
    }

    @Test(arguments: 1...8)
    func whateverIsReadTheDecoderReadsAsTheSame(seed: UInt64) throws {
        var texts = RandomTasks(seed: seed)
        for _ in 0..<1000 {
            let text = texts.next()
            guard let task = try? read(text) else { continue }
            let shown = String(decoding: text, as: UTF8.self)
            #expect(try task.isSame(as: decode(text)), "\(shown)")
        }
    }

    @Test func aBatchIsReadAsItsTasks() throws {
        let batch = try SubmitRequest.tasks(in: #"[{"url": "x"}, {"url": "y", "kind": 1}]"#)
        #expect(batch.isBatch)
        #expect(try batch.tasks[0].result.get().isSame(as: read(#"{"url": "x"}"#)))
        #expect(throws: FieldError.self) { try batch.tasks[1].result.get() }
    }
}

/// Texts of tasks, most of them with a fault or a rare form somewhere.
private struct RandomTasks {
    private var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(state: seed) }

    private static let names = [
        "url", "headers", "client_persisted_string", "earliest_begin_at", "autostart", "priority",
        "destination", "resume_data", "kind", "method", "components", "upload", "body", "a", "b",
        "timeout_for_request", "path", "overwrite", "staged", "base64", "text", "json", "form",
        "multipart", "filename", "content_type", "name", "value", "scheme",
        "host", "port", "query_items", "", "é", "e\u{301}", "\\u0061",
        "u\\u0072l",
    ]
    private static let words = [
        "true", "false", "null", "0", "-0", "1", "-1", "0.5", "1.0", "-0.0", "1e2", "1E-2", "01",
        "123456789012345", "1234567890123456", "9223372036854775807", "9223372036854775808",
        "0.1", "0.30000000000000004", "100000000000.25", "1.10", "nul", "tru", "--1", "1.", ".1",
    ]
    private static let strings = [
        "", "x", "http://origin.example/", "GET", "upload", "2030-01-01T00:00:00Z", "é", "\\n",
        "e\u{301}", "\\\"", "\\\\", "\\/", "\\u00e9", "\\ud83d\\ude00", "\\ud83d", "\\u0000",
        "\\uD83D\\uDE00x", "\u{FEFF}", "\u{7F}", "\\u002", "\t", "😀",
    ]
    private static let bytes = Array(" {}[]\",:\\u0ent-.1\t\u{E9}".utf8)

    /// Returns the next text, sometimes with a byte that was changed.
    mutating func next() -> [UInt8] {
        var text = Array(object(["url"], depth: 0).utf8)
        guard Int.random(in: 0..<3, using: &random) == 0 else { return text }
        let place = Int.random(in: text.indices, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: text.remove(at: place)
        case 1: text.insert(Self.bytes.randomElement(using: &random) ?? 0, at: place)
        default: text[place] = Self.bytes.randomElement(using: &random) ?? 0
        }
        return text
    }

    private mutating func object(_ known: [String], depth: Int) -> String {
        var members = known.map { "\"\($0)\":\(string())" }
        for _ in 0..<Int.random(in: 0..<5, using: &random) {
            let name = anyName()
            members.append("\(space())\"\(name)\"\(space()):\(value(of: name, depth: depth + 1))")
        }
        return "{\(members.joined(separator: ","))\(space())}"
    }

    private mutating func anyName() -> String {
        Self.names.randomElement(using: &random) ?? ""
    }

    /// Returns a value that mostly fits the member.
    private mutating func value(of name: String, depth: Int) -> String {
        guard Int.random(in: 0..<8, using: &random) > 0 else { return any(depth: depth) }
        return switch name {
        case "headers": "{\"A\":\(string()),\"\(anyName())\":\(string())}"
        case "destination": object(["path"], depth: depth)
        case "components": object(["scheme", "host"], depth: depth)
        case "query_items", "form": "[\(object(["name", "value"], depth: depth))]"
        case "multipart": "[\(object(["name"], depth: depth))]"
        case "earliest_begin_at": "\"2030-01-01T00:00:00Z\""
        case "autostart", "overwrite", "staged": Bool.random(using: &random) ? "true" : "false"
        case "priority", "port": Self.words.randomElement(using: &random) ?? ""
        case "a", "b", "timeout_for_request", "json", "": any(depth: depth)
        case "upload": "{\(member("path", "body", "staged", depth: depth))}"
        case "body": "{\(member("base64", "text", "json", "form", "multipart", depth: depth))}"
        default: string()
        }
    }

    private mutating func member(_ names: String..., depth: Int) -> String {
        let name = names.randomElement(using: &random) ?? ""
        return "\"\(name)\":\(value(of: name, depth: depth + 1))"
    }

    private mutating func any(depth: Int) -> String {
        switch Int.random(in: 0..<(depth < 10 ? 5 : 3), using: &random) {
        case 0: return string()
        case 1, 2: return Self.words.randomElement(using: &random) ?? ""
        case 3: return object([], depth: depth)
        default:
            let count = Int.random(in: 0..<3, using: &random)
            let elements = (0..<count).map { _ in any(depth: depth + 1) + space() }
            return "[\(elements.joined(separator: ","))]"
        }
    }

    private mutating func string() -> String {
        let count = Int.random(in: 0..<3, using: &random)
        let parts = (0..<count).map { _ in Self.strings.randomElement(using: &random) ?? "" }
        return "\"\(parts.joined())\""
    }

    private mutating func space() -> String {
        ["", "", "", " ", "\n\t"].randomElement(using: &random) ?? ""
    }
}

extension TaskRequest {
    /// Whether both hold the same values, byte by byte.
    fileprivate func isSame(as other: TaskRequest) -> Bool {
        options == other.options && priority?.bitPattern == other.priority?.bitPattern
            && headers == other.headers && earliestBeginAt == other.earliestBeginAt
            && autostart == other.autostart && plainTexts == other.plainTexts
            && destination?.overwrite == other.destination?.overwrite
            && upload?.staged == other.upload?.staged && components?.port == other.components?.port
            && sentBody?.json == other.sentBody?.json
            && (upload == nil) == (other.upload == nil) && (body == nil) == (other.body == nil)
    }

    private var components: URLComponentsRequest? {
        if case .components(let components) = target { components } else { nil }
    }

    private var sentBody: BodyRequest? { body ?? upload?.body }

    private var plainTexts: [[UInt8]?] {
        var url: String?
        if case .url(let text) = target { url = text }
        var texts = [url, clientPersistedString, resumeData, kind, method, destination?.path]
        texts += [components?.scheme, components?.host, components?.path]
        for item in components?.queryItems ?? [] { texts += [item.name, item.value] }
        texts += [upload?.path, sentBody?.base64, sentBody?.text]
        for field in sentBody?.form ?? [] { texts += [field.name, field.value] }
        for part in sentBody?.multipart ?? [] {
            texts += [part.name, part.text, part.base64, part.filename, part.contentType]
        }
        return texts.map { $0.map { Array($0.utf8) } }
    }
}
