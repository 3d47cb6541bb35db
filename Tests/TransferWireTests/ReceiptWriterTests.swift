import Testing

@testable import TransferWire

@Suite struct ReceiptWriterTests {
    private static let sessions = ["a", "a/b \"c\" \\ é 😀 \u{2028}", "\n\t\u{1}\u{7F}", "<&>'"]

    private func receipts(_ session: String) -> [TaskReceipt] {
        ["queued", "scheduled", "suspended"].enumerated().map { index, state in
            let id = "0199-\(index)"
            return TaskReceipt(
                id: id,
                kind: "download",
                clientPersistedString: index == 0 ? nil : session + state,
                sessionIdentifier: session,
                state: state,
                location: APIPath.task(id)
            )
        }
    }

    private func written(
        _ form: ReceiptWriter.Form,
        _ receipts: [TaskReceipt],
        _ session: String
    ) throws -> [UInt8] {
        var writer = try ReceiptWriter(form, sessionIdentifier: session, count: receipts.count)
        for receipt in receipts {
            try writer.append(
                id: receipt.id,
                kind: receipt.kind,
                clientString: receipt.clientPersistedString,
                state: receipt.state
            )
        }
        return writer.finish()
    }

    @Test(arguments: sessions)
    func writesWhatTheEncoderWrites(session: String) throws {
        let receipts = receipts(session)
        #expect(
            try written(.single, [receipts[0]], session) == WireEncoder.encode(receipts[0])
        )
        #expect(
            try written(.batch, receipts, session)
                == WireEncoder.encode(BatchReceipt(items: receipts))
        )
        let lines = try receipts.flatMap { try WireEncoder.encode($0) + [UInt8(ascii: "\n")] }
        #expect(try written(.lines, receipts, session) == lines)
    }
}
