import Foundation
import Glibc
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// The memory used by clients that do not read, or that send everything at once.
@Suite(.serialized, .timeLimit(.minutes(10))) struct FloodTests {
    /// The maximum number of bytes above the memory of the service at rest.
    private static let bytesMax = 128 << 20
    /// The maximum number of these bytes that may remain afterwards.
    private static let restMax = 48 << 20

    @Test func requestsSentAheadAreNotAnsweredIntoMemory() async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        try await expectBounded(service) {
            let request = "GET /openapi.yaml HTTP/1.1\r\nHost: a\r\n\r\n"
            let all = Array(String(repeating: request, count: 100).utf8)
            return try (0..<200).map { _ in try UnreadConnection(service, sending: all) }
        }
    }

    @Test func contentThatNobodyReadsIsNotReadFromTheDisk() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let body = OriginBody.random(seed: 1, size: 32 << 20)
        origin.when("/file") { .file(body, etag: "\"1\"", for: $0) }
        let service = try await ServiceProcess(in: directory)
        let key = try directory.apiKey()
        let client = service.client(key: key)
        try await client.makeSession("s")
        let id = try await client.submit([origin.url("/file")], to: "s")[0]
        try await eventually("the file is there", within: .seconds(60)) {
            try await client.task(id).state == "completed"
        }
        try await expectBounded(service) {
            let request = """
                GET /v1/tasks/\(id)/content HTTP/1.1\r
                Host: a\r
                Authorization: Bearer \(key)\r
                \r

                """
            return try (0..<250).map { _ in
                try UnreadConnection(service, sending: Array(request.utf8))
            }
        }
    }

    /// What makes the tasks of a submission large.
    enum Bulk: CaseIterable {
        case clientStrings
        /// JSON of nearly as many values as a request may have, each of which takes seventeen times
        /// as much memory as its text.
        case json

        var requests: Int {
            switch self {
            case .clientStrings: 16
            case .json: 2
            }
        }

        var tasks: Int {
            switch self {
            case .clientStrings: 1000
            case .json: 31
            }
        }

        private var ones: String { String(repeating: "1,", count: 8200) }

        /// The member of a task that is large.
        var member: String {
            switch self {
            case .clientStrings:
                #""client_persisted_string":"\#(String(repeating: "x", count: 16_500))""#
            case .json:
                #""kind":"upload","upload":{"body":{"json":[\#(ones)1]}}"#
            }
        }
    }

    /// Bodies as large as they may be are sent at once: none is lost, and each refused client is
    /// told when to retry.
    @Test(arguments: Bulk.allCases)
    func largeSubmissionsAreTakenOneAfterTheOther(bulk: Bulk) async throws {
        let directory = try DataDirectory()
        let service = try await ServiceProcess(in: directory)
        let client = try service.client(key: directory.apiKey())
        let http = try HTTPClient(service, key: directory.apiKey())
        try await client.makeSession("s")
        let task = #"{"url":"http://a.example/","autostart":false,\#(bulk.member)}"#
        let body = "[\(Array(repeating: task, count: bulk.tasks).joined(separator: ","))]"
        let rest = try service.memory()
        try service.forgetMemoryPeak()
        let statuses = try await withThrowingTaskGroup(of: [Int].self) { group in
            for _ in 0..<bulk.requests {
                group.addTask {
                    var statuses: [Int] = []
                    while statuses.last != 202, statuses.count < 100 {
                        let answer = try await http.send("POST", "/v1/sessions/s/tasks", body)
                        statuses.append(answer.status)
                    }
                    return statuses
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.allSatisfy { $0.last == 202 })
        #expect(statuses.flatMap(\.self).allSatisfy { [202, 429, 503].contains($0) })
        let peak = try service.memoryPeak()
        #expect(peak - rest <= Self.bytesMax, "\(peak >> 20) MiB, \(rest >> 20) at rest")
        try await expectGivenBack(service, rest)
        #expect(await service.terminate() == 0)
    }

    /// Opens connections that do not read, and measures the memory of the service until it has
    /// nothing more to do for them, and after they have gone.
    private func expectBounded(
        _ service: ServiceProcess,
        _ open: () throws -> [UnreadConnection]
    ) async throws {
        let probe = HTTPClient(service, key: "none")
        #expect(await probe.status("GET", "/livez") == 200)
        let rest = try service.memory()
        try service.forgetMemoryPeak()
        do {
            let connections = try open()
            for connection in connections { try await connection.awaitFirstByte() }
            // Others are served meanwhile, and behind so many requests, any answers have been
            // written.
            for _ in 0..<200 { #expect(await probe.status("GET", "/livez") == 200) }
            let peak = try service.memoryPeak()
            #expect(peak - rest <= Self.bytesMax, "\(peak >> 20) MiB, \(rest >> 20) at rest")
        }
        try await expectGivenBack(service, rest)
        #expect(await service.terminate() == 0)
    }

    private func expectGivenBack(_ service: ServiceProcess, _ rest: Int) async throws {
        try await eventually("the memory is given back") {
            try service.memory() - rest <= Self.restMax
        }
    }
}

/// A connection on which nothing is read.
private final class UnreadConnection {
    private let descriptor: Int32

    init(_ service: ServiceProcess, sending bytes: [UInt8]) throws {
        descriptor = try HTTPClient.connect(service.announcement.port)
        let count = bytes.withUnsafeBytes {
            send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count == bytes.count else { throw HTTPClient.Failure(step: "send", code: errno) }
    }

    deinit { close(descriptor) }

    /// Waits until an answer starts, and leaves it unread.
    func awaitFirstByte() async throws {
        try await onThread { [descriptor] in
            var byte: UInt8 = 0
            guard recv(descriptor, &byte, 1, Int32(MSG_PEEK)) == 1 else {
                throw HTTPClient.Failure(step: "recv", code: errno)
            }
        }
    }
}
