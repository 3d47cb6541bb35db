import Foundation
import Glibc
import HTTPTypes
import Hummingbird
import NIOCore
import NIOPosix
import Synchronization
import Testing
import TransferContainer
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Uploads whose bytes come in several requests, with a power cut between them.
extension BodyTests {
    /// Returns the number of bytes that count after another boot.
    static func bytesDurable(_ server: APIServer, _ id: TaskID) throws -> Int64 {
        try StagedBody.size(
            of: id,
            tenant: server.first.id,
            in: Container(directory: server.containers),
            bootID: UUID()
        )
    }

    /// Their number is in the file, which the kernel writes when it likes.
    @Test func theBytesOfEachPartAreFlushedBeforeItIsAnswered() async throws {
        try await Self.run { server, path, id in
            for end in [100_000, 200_000] {
                let part = try await Self.put(server, path, end - 100_000..<end)
                #expect(part.status == 202)
                #expect(part.fields["upload-offset"] == "\(end)")
                #expect(try Self.bytesDurable(server, id) == Int64(end))
            }
        }
    }

    /// Returns the error of a request that brings three bytes and breaks off after `meanwhile`.
    private static func errorOfBreakingOff(
        _ server: APIServer,
        _ path: String,
        _ id: TaskID,
        meanwhile: @escaping @Sendable () -> Void
    ) async throws -> Problem? {
        struct Broken: Error {}
        let routes = try Self.routes(server)
        let hasBegun = Atomic(false)
        let chunks = AsyncThrowingStream<ByteBuffer, any Error>(unfolding: {
            if !hasBegun.exchange(true, ordering: .relaxed) {
                return ByteBuffer(bytes: bytes[..<3])
            }
            meanwhile()
            throw Broken()
        })
        let request = Request(
            head: HTTPRequest(method: .put, scheme: nil, authority: nil, path: "\(path)/body"),
            body: RequestBody(asyncSequence: chunks)
        )
        let caller = Self.caller(server)
        let answer = Task { _ = try await routes.put(request, of: id, for: caller) }
        return await #expect(throws: Problem.self) { try await answer.value }
    }

    @Test(arguments: [false, true])
    func bytesThatBreakOffAreKeptAndToldAsSuch(isCancelled: Bool) async throws {
        try await Self.run { server, path, id in
            let problem = try await Self.errorOfBreakingOff(server, path, id) {
                if isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
            }
            #expect(problem?.code == .incompleteBody)
            let offset = try await server.send("GET", "\(path)/body").fields["upload-offset"]
            #expect(offset == "3")
            #expect(try Self.bytesDurable(server, id) == 3)
        }
    }

    /// The folder has been moved away; the bytes are there, as the first error says.
    @Test func bytesThatBreakOffAreToldAsSuchAlsoIfTheirNameCannotBeFlushed() async throws {
        try await Self.run { server, path, id in
            let (folder, tenant) = (server.containers, server.first.id)
            let problem = try await Self.errorOfBreakingOff(server, path, id) {
                #expect(rename("\(folder)/\(tenant)", "\(folder)/moved") == 0)
            }
            #expect(problem?.code == .incompleteBody)
            #expect(problem?.headers[.uploadOffset] == "3")
        }
    }

    /// The size of the file has outlived it, and some of the bytes have not.
    @Test func afterAPowerCutBytesGoOnWhereTheyAreDurable() async throws {
        try await Self.run { server, path, id in
            let container = try Container(directory: server.containers)
            do {
                let body = try StagedBody(
                    of: id,
                    tenant: server.first.id,
                    in: container,
                    bootID: UUID()
                )
                try Self.bytes[..<100_000].withUnsafeBytes { try body.append($0) }
                try body.sync()
                try [UInt8](repeating: 0, count: 50_000).withUnsafeBytes { try body.append($0) }
            }
            let offset = try await server.send("GET", "\(path)/body").fields["upload-offset"]
            #expect(offset == "100000")
            let ahead = try await Self.put(server, path, 150_000..<300_000)
            #expect(ahead.code == .wrongOffset)
            #expect(ahead.fields["upload-offset"] == "100000")
            #expect(try await Self.put(server, path, 100_000..<300_000).status == 200)
            #expect(try Self.staged(server, id) == Self.bytes)
        }
    }
}
