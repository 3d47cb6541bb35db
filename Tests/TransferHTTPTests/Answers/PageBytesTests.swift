import Foundation
import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Pages that end when they are full, each continued by the next one.
@Suite(.postgresSchema, .timeLimit(.minutes(5))) struct PageBytesTests {
    private static let count = 40

    /// Submits tasks whose client strings need six bytes in JSON for each byte.
    private func fill(_ server: APIServer, _ session: String) async throws -> [String] {
        let string = String(repeating: "\\u0001", count: ClientString.bytesMax)
        let task = #"{"url": "http://origin.example/", "client_persisted_string": "\#(string)"}"#
        let batch = "[\(Array(repeating: task, count: Self.count).joined(separator: ","))]"
        let answer = try await server.send("POST", "\(session)/tasks", batch)
        #expect(answer.status == 202)
        return try answer.json(BatchReceipt.self).items.map(\.id)
    }

    @Test func listsOfTasksEndByTheirBytes() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let submitted = try await fill(server, session)
            var listed: [String] = []
            var cursor = ""
            repeat {
                let answer = try await server.send("GET", "\(session)/tasks?limit=200\(cursor)")
                #expect(answer.body.count <= PageBytes.max)
                let page = try answer.json(Page<TaskDocument>.self)
                #expect(!page.items.isEmpty)
                listed += page.items.map(\.id)
                cursor = page.nextCursor.map { "&cursor=\($0)" } ?? ""
            } while !cursor.isEmpty && listed.count <= Self.count
            #expect(listed == submitted)
        }
    }

    @Test func pagesOfEventsEndByTheirBytes() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            _ = try await fill(server, session)
            var sequences: [Int64] = []
            var place = ""
            while sequences.count <= Self.count {
                let answer = try await server.send("GET", "\(session)/events?limit=200\(place)")
                #expect(answer.body.count <= PageBytes.max)
                let page = try answer.json(EventPage.self)
                if page.items.isEmpty { break }
                sequences += page.items.map(\.data.sequence)
                #expect(page.next.hasSuffix(":\(sequences.last ?? 0)"))
                place = "&after=\(page.next)"
            }
            #expect(sequences == Array(1...Int64(Self.count)))
        }
    }

    @Test func aReconnectionTakesWhatItsAnswerHolds() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let submitted = try await fill(server, session)
            var taken: [String] = []
            for _ in 0..<Self.count where taken.count < Self.count {
                let answer = try await server.send(
                    "POST",
                    "\(session)/reconnect",
                    #"{"limit": 1000}"#
                )
                #expect(answer.body.count <= PageBytes.max)
                let document = try answer.json(ReconnectionDocument.self)
                taken += document.items.compactMap(\.ok?.id)
                #expect(document.nextCursor != nil || taken.count >= Self.count)
            }
            #expect(taken == submitted)
        }
    }
}
