import Testing

@testable import TransferWire

@Suite struct WireDecoderTests {
    private func failure(_ text: String) -> WireDecoder.Failure? {
        do throws(WireDecoder.Failure) {
            _ = try SubmitRequest.tasks(in: text)
            return nil
        } catch {
            return error
        }
    }

    @Test func nestingIsBoundedBeforeDecoding() {
        let deep = String(repeating: "[", count: 100_000)
        #expect(throws: JSONText.Fault.tooDeep) { try JSONText.check(Array(deep.utf8)) }
        let most = String(repeating: "[", count: JSONText.depthMax)
        #expect(throws: Never.self) { try JSONText.check(Array(most.utf8)) }
        let text = "\"\(deep)\\\"\(deep)\""
        #expect(throws: Never.self) { try JSONText.check(Array(text.utf8)) }
    }

    /// In a usual form and in others; of a batch each task has as many.
    @Test(arguments: ["1", "{}", #"{"a":[]}"#, "1e2"])
    func valuesAreBounded(value: String) throws {
        let cost = value.utf8.count { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "[") } + 1
        // Around the list there are three brackets and a comma, and the list has a comma less than
        // values.
        let most = (JSONText.valuesMax - 3) / cost
        for (count, isRead) in [(most, true), (most + 1, false)] {
            let list = Array(repeating: value, count: count).joined(separator: ",")
            let task = #"{"url":"x","body":{"json":[\#(list)]}}"#
            for text in [task, "[\(task),\(task)]"] {
                #expect((failure(text) == nil) == isRead)
            }
            let decoded = try? WireDecoder.decode(TaskRequest.self, from: Array(task.utf8))
            #expect((decoded != nil) == isRead)
        }
    }

    /// Those of all numbers together, but not those of texts; of a batch each task has as many.
    @Test(arguments: ["", "0.", "1e", "-"])
    func digitsCountAsValues(before: String) {
        // Beside the numbers there are a bracket and a comma.
        let most = JSONText.digitsOfValue + (JSONText.valuesMax - 2) / 2
        for (count, isRead) in [(most, true), (most + 1, false)] {
            let number = before + String(repeating: "1", count: count)
            let object = #"{"a":\#(number),"\#(number)":\#(number)}"#
            let fault: JSONText.Fault? = isRead ? nil : .tooManyValues
            for text in [object, "[\(object),\(object)]"] {
                #expect(Self.fault(in: text) == fault)
            }
        }
    }

    @Test func digitsOfAnElementCountAsValues() {
        let most = JSONText.digitsOfValue + JSONText.valuesMax
        for (count, isRead) in [(most, true), (most + 1, false)] {
            let number = String(repeating: "1", count: count)
            let fault: JSONText.Fault? = isRead ? nil : .tooManyValues
            #expect(Self.fault(in: "[\(number),\(number)]") == fault)
        }
    }

    /// Of eight tasks each has half as many as a task may have.
    @Test func valuesOfABatchAreBoundedTogether() {
        func task(_ count: Int) -> String {
            let list = Array(repeating: "1", count: count).joined(separator: ",")
            return #"{"url":"x","body":{"json":[\#(list)]}}"#
        }
        // Around a list there are three brackets, a comma, and what is before the task.
        let most = JSONText.batchValuesMax / 8 - 4
        let tasks = Array(repeating: task(most), count: 7).joined(separator: ",")
        for (count, isRead) in [(most, true), (most + 1, false)] {
            let text = "[\(tasks),\(task(count))]"
            #expect(Self.fault(in: text) == (isRead ? nil : .tooManyValuesInBatch))
            let failure = failure(text)
            #expect((failure == nil) == isRead)
            guard case .malformed(let detail) = failure else { continue }
            #expect(detail.contains("several requests"))
        }
    }

    private static func fault(in text: String) -> JSONText.Fault? {
        do throws(JSONText.Fault) {
            _ = try JSONText.elements(of: Array(text.utf8), max: 10)
            return nil
        } catch {
            return error
        }
    }

    @Test func aNumberThatDoesNotFitIsRefusedByItsPlace() {
        let body = #"{"completed_unit_count":0,"total_unit_count":18446744073709551616}"#
        let fault = FieldError(
            pointer: "/total_unit_count",
            .invalidValue,
            "Must be a whole number that can be represented."
        )
        #expect(throws: WireDecoder.Failure.invalid(fault)) {
            try WireDecoder.decode(RunProgressRequest.self, from: Array(body.utf8))
        }
    }

    @Test func ofTooManyElementsOnlyOneMoreIsKept() throws {
        let text = "[\(Array(repeating: "1", count: 5000).joined(separator: ","))]"
        #expect(try JSONText.elements(of: Array(text.utf8), max: 1000)?.count == 1001)
        guard case .invalid(let error) = failure(text) else {
            Issue.record("read")
            return
        }
        #expect(error.code == .tooManyItems)
    }

    @Test func onlyUTF8IsRead() {
        for bytes: [UInt8] in [[0x7B, 0, 0x7D, 0], [0xFF, 0xFE], [0x22, 0xC0, 0x80, 0x22]] {
            #expect(throws: JSONText.Fault.self) { try JSONText.check(bytes) }
        }
    }

    @Test func clientStringKeepsItsBytes() throws {
        for (text, expected) in [
            (#"a\u0000b"#, "a\0b"), ("e\u{301}", "e\u{301}"), ("\u{E9}", "\u{E9}"),
            (#"\ud83d\ude00"#, "😀"), ("#?///?#", "#?///?#"), (#"\u2028"#, "\u{2028}"),
        ] {
            let body = #"{"url": "x", "client_persisted_string": "\#(text)"}"#
            let request = try SubmitRequest.tasks(in: body)
            let string = try request.tasks[0].result.get().clientPersistedString
            #expect(string.map { Array($0.utf8) } == Array(expected.utf8))
        }
    }

    @Test func nullIsAbsence() throws {
        let body = #"{"url": "x", "headers": null, "priority": null, "destination": null}"#
        let request = try SubmitRequest.tasks(in: body)
        let task = try request.tasks[0].result.get()
        #expect(task.headers == nil)
        #expect(task.priority == nil)
        #expect(!request.isBatch)
    }

    @Test func malformedAndInvalidAreToldApart() {
        #expect(failure("{") == .malformed("The body is not a JSON text (RFC 8259)."))
        #expect(failure("") == .malformed("The body is empty."))
        #expect(
            failure("[]")
                == .invalid(FieldError(pointer: "", .noItems, "An array needs at least one task."))
        )
        #expect(failure("[1, 2]") == nil)
    }

    /// Comments, other quotes, names without any, and numbers that JSON does not have.
    @Test(arguments: [
        ("[1, //\n 2]", 5), ("{'url': 1}", 2), (#"{"u": NaN}"#, 7), (#"[{"a": "é'"}, {b: 1}]"#, 17),
        (#"{"a": "b\"/"} é"#, 15), ("# a\n{}", 1),
    ])
    func whatStandsOutsideStringsIsFound(text: String, number: Int) {
        #expect(Self.fault(in: text) == .strayByte(number))
        guard case .malformed(let detail)? = failure(text) else {
            Issue.record("read")
            return
        }
        #expect(detail.hasPrefix("Byte \(number) is one that JSON"))
    }

    @Test func pointersAreEscaped() {
        #expect(JSONPointer.escaped("a/b~c") == "a~1b~0c")
        #expect(
            JSONPointer.rendering([AnyKey(intValue: 3), AnyKey(stringValue: "a/b")]) == "/3/a~1b"
        )
    }
}
