import Foundation
import Glibc
import Testing
import TransferTestSupport
import TransferURLSession

@testable import TransferClient

/// What a client expects of each transport, beside an origin that behaves as badly as it can.
@Suite(.timeLimit(.minutes(2))) struct TransportTests {
    enum Library: CaseIterable {
        case asyncHTTPClient, urlSession

        var transport: any TransferTransport {
            switch self {
            case .asyncHTTPClient: AsyncHTTPTransport.shared
            case .urlSession: URLSessionTransport.shared
            }
        }
    }

    private static func request(
        _ method: String = "GET",
        _ url: String,
        body: TransportRequest.Body = .none,
        timeout: Duration = .seconds(60),
        isLong: Bool = false
    ) -> TransportRequest {
        TransportRequest(
            method: method,
            url: url,
            headers: [("X-Test", "a b")],
            body: body,
            timeout: timeout,
            isLong: isLong
        )
    }

    private static func bytes(_ response: TransportResponse) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await part in response.body { bytes += part }
        return bytes
    }

    @Test(arguments: Library.allCases)
    func givesTheHeadBeforeTheBody(_ library: Library) async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = OriginGate()
        let body = OriginBody.random(seed: 1, size: 100_000)
        origin.when("/", .gated(body, after: 10, gate, headers: [("X-Answer", "yes")]))
        let response = try await library.transport.send(Self.request("GET", origin.url("/")))
        #expect(response.status == 200 && response.header("x-answer") == "yes")
        var parts = response.body.makeAsyncIterator()
        var bytes: [UInt8] = []
        while bytes.count < 10, let part = try await parts.next() { bytes += part }
        gate.open()
        while let part = try await parts.next() { bytes += part }
        #expect(bytes == body.bytes)
        #expect(origin.log.now.requests.first?["X-Test"] == "a b")
    }

    @Test(arguments: Library.allCases, [301, 302, 303, 304, 307, 308])
    func followsNoRedirect(_ library: Library, _ status: Int) async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        // A 304 has no body and no place to go to.
        origin.when("/", status == 304 ? .response(304) : .redirect(status, to: "/other"))
        let response = try await library.transport.send(Self.request("GET", origin.url("/")))
        #expect(response.status == status)
        #expect(response.header("Location") == (status == 304 ? nil : "/other"))
        #expect(try await Self.bytes(response).isEmpty)
        #expect(origin.log.now.requests.count == 1)
    }

    @Test(arguments: Library.allCases)
    func sendsEveryKindOfBody(_ library: Library) async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        origin.when("/") { .response(body: .text("\($0.method) \($0.body.count)")) }
        let folder = try TestFolder("transport")
        try folder.write(String(repeating: "x", count: 300_000) + "end", to: "file")
        let file = URL(filePath: "\(folder.path)/file")
        let bodies: [(String, TransportRequest.Body, String)] = [
            ("DELETE", .none, "DELETE 0"), ("POST", .none, "POST 0"),
            ("POST", .bytes([1, 2]), "POST 2"), ("PATCH", .bytes([1]), "PATCH 1"),
            ("PUT", .file(FileSlice(file: file, offset: 0, count: 300_003)), "PUT 300003"),
            ("PUT", .file(FileSlice(file: file, offset: 300_000, count: 3)), "PUT 3"),
        ]
        for (method, body, answer) in bodies {
            let request = Self.request(method, origin.url("/"), body: body)
            let bytes = try await Self.bytes(try await library.transport.send(request))
            #expect(String(decoding: bytes, as: UTF8.self) == answer)
        }
        #expect(origin.log.now.requests.last?.body == Array("end".utf8))
    }

    @Test(arguments: Library.allCases, ["absent", "folder", "pipe", "short"])
    func saysThatAFileCannotBeSent(_ library: Library, _ name: String) async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        origin.when("/", .response(204))
        let folder = try TestFolder("transport")
        try folder.write("x", to: "short")
        try folder.write("x", to: "folder/file")
        #expect(mkfifo("\(folder.path)/pipe", 0o600) == 0)
        let path = "\(folder.path)/\(name)"
        let slice = FileSlice(file: URL(filePath: path), offset: 0, count: 2)
        let request = Self.request("PUT", origin.url("/"), body: .file(slice))
        let failure = await #expect(throws: TransportFailure.self) {
            try await library.transport.send(request)
        }
        #expect(failure?.kind == .unreadable)
        #expect(failure?.reason.hasPrefix("\(path) cannot be read: ") == true)
    }

    @Test(arguments: Library.allCases)
    func saysThatNothingWasSent(_ library: Library) async throws {
        let nowhere = try HeldPort()
        defer { withExtendedLifetime(nowhere) {} }
        let request = Self.request("GET", "http://127.0.0.1:\(nowhere.number)/")
        let failure = await #expect(throws: TransportFailure.self) {
            try await library.transport.send(request)
        }
        #expect(failure?.kind == .notConnected)
        guard library == .asyncHTTPClient else { return }
        #expect(failure?.reason == "The service could not be reached: Connection refused.")
    }

    @Test func saysThatACertificateIsNotTrusted() async throws {
        let authority = try await TestAuthority()
        let server = try await TLSServer(try await authority.issue(), of: authority)
        let request = Self.request("GET", server.url())
        let failure = await #expect(throws: TransportFailure.self) {
            try await AsyncHTTPTransport.shared.send(request)
        }
        #expect(failure?.kind == .notConnected)
        #expect(failure?.reason == "This machine does not trust the service's certificate.")
    }

    /// As where the URL of a service without TLS begins with `https://`.
    @Test func saysThatTheServiceDoesNotSpeakTLS() async throws {
        let held = try HeldPort()
        let listener = try held.listen(backlog: 1)
        Thread.detachNewThread {
            defer { close(listener) }
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { return }
            defer { close(connection) }
            let answer = Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)
            _ = send(connection, answer, answer.count, Int32(MSG_NOSIGNAL))
            // The client ends the connection.
            var bytes = [UInt8](repeating: 0, count: 1024)
            while recv(connection, &bytes, bytes.count, 0) > 0 {}
        }
        let request = Self.request("GET", "https://127.0.0.1:\(held.number)/")
        let failure = await #expect(throws: TransportFailure.self) {
            try await AsyncHTTPTransport.shared.send(request)
        }
        #expect(failure?.kind == .notConnected)
        #expect(failure?.reason.hasPrefix("The service does not speak TLS there; ") == true)
    }

    @Test func saysHowAConnectionEndedWithoutTheNameOfACall() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        origin.when("/", OriginScript([.reset]))
        let failure = await #expect(throws: TransportFailure.self) {
            try await AsyncHTTPTransport.shared.send(Self.request("GET", origin.url("/")))
        }
        #expect(failure?.kind == .broken)
        #expect(failure?.reason == "The connection ended: Connection reset by peer.")
    }

    @Test(arguments: Library.allCases)
    func waitsForAResponseAsLongAsItIsTold(_ library: Library) async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        origin.when("/", OriginScript([.wait(OriginGate())]))
        let request = Self.request("GET", origin.url("/"), timeout: .milliseconds(50))
        let failure = await #expect(throws: TransportFailure.self) {
            try await library.transport.send(request)
        }
        #expect(failure?.kind == .timedOut)
        await origin.log.wait { $0.connectionsOpen == 0 }
    }

    @Test(arguments: Library.allCases)
    func endsWithItsCaller(_ library: Library) async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = OriginGate()
        origin.when("/head", OriginScript([.wait(gate)]))
        origin.when("/body", .gated(.text("0123456789"), after: 1, gate))
        let head = Task {
            try await library.transport.send(Self.request("GET", origin.url("/head")))
        }
        await origin.log.arrived(1)
        head.cancel()
        let failure = await #expect(throws: TransportFailure.self) { try await head.value }
        #expect(failure?.kind == .cancelled)
        let body = Task {
            try await Self.bytes(
                try await library.transport.send(Self.request("GET", origin.url("/body")))
            )
        }
        await origin.log.sent(1, at: "/body")
        body.cancel()
        _ = await body.result
        await origin.log.wait { $0.connectionsOpen == 0 }
    }

    @Test(arguments: Library.allCases)
    func saysThatABodyHasBrokenOff(_ library: Library) async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        origin.when("/", .cut(.text("0123456789"), after: 4, .close))
        let response = try await library.transport.send(Self.request("GET", origin.url("/")))
        var bytes: [UInt8] = []
        let failure = await #expect(throws: TransportFailure.self) {
            for try await part in response.body { bytes += part }
        }
        #expect(failure?.kind == .broken && bytes == Array("0123".utf8))
    }

    @Test(arguments: Library.allCases)
    func endsARequestWhoseBodyNobodyReads(_ library: Library) async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        origin.when("/", .gated(.text("0123456789"), after: 1, OriginGate()))
        _ = try await library.transport.send(Self.request("GET", origin.url("/"))).status
        await origin.log.wait { $0.connectionsOpen == 0 }
    }

    @Test func saysNothingOfAFieldThatCannotBeSent() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let request = TransportRequest(
            method: "GET",
            url: origin.url("/"),
            headers: [("Authorization", "Bearer secret\r")],
            body: .none,
            timeout: .seconds(60)
        )
        let failure = await #expect(throws: TransportFailure.self) {
            try await AsyncHTTPTransport.shared.send(request)
        }
        #expect(failure?.reason.contains("secret") == false)
    }

    @Test func refusesWhatURLSessionWouldDecode() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        origin.when("/", .response(headers: [("Content-Encoding", "gzip")], body: .text("gzip")))
        let failure = await #expect(throws: TransportFailure.self) {
            try await URLSessionTransport.shared.send(Self.request("GET", origin.url("/")))
        }
        #expect(failure?.kind == .unusable)
        #expect(origin.log.now.requests.first?["Accept-Encoding"] == "identity")
    }

    /// A reader that is slower than the sender gets everything, and its memory stays bounded.
    @Test func continuesWhereItGaveUpASenderThatWasTooFast() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        // Blocks that differ; to make each byte differ takes too long without optimization.
        let body = OriginBody.bytes(
            (0..<20).flatMap {
                [UInt8](repeating: $0, count: URLSessionTransport.waitingBytesMax / 8)
            }
        )
        origin.when("/v1/tasks/t/content") { .file(body, etag: "\"t-1\"", for: $0) }
        let service = TransferService(
            url: origin.url(""),
            apiKey: "key",
            transport: URLSessionTransport.shared
        )
        var bytes: [UInt8] = []
        var largest = 0
        for try await part in service.content(ofTask: "t") {
            if bytes.isEmpty {
                // Nothing is read until all was sent, or the connection given up.
                await origin.log.wait { $0.requestsOpen == 0 }
                // What this one is told comes behind what has arrived before, in the same session.
                _ = try await URLSessionTransport.shared.send(
                    Self.request("GET", origin.url("/"), isLong: true)
                )
            }
            bytes += part
            largest = max(largest, part.count)
        }
        #expect(Data(bytes) == Data(body.bytes))
        #expect(origin.log.now.requests(at: "/v1/tasks/t/content").count > 1)
        #expect(largest <= URLSessionTransport.waitingBytesMax + (1 << 20))
    }

    /// As a service whose disk hangs, or a proxy that has lost it.
    @Test func givesUpABodyOfWhichNothingIsTaken() async throws {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        origin.when("/", readsBody: false) { _ in OriginScript([.wait(OriginGate())]) }
        let folder = try TestFolder("transport")
        try folder.write("", to: "file")
        // More than the buffers of two sockets hold.
        let size: Int64 = 64 << 20
        #expect(truncate("\(folder.path)/file", Int(size)) == 0)
        var transport = AsyncHTTPTransport.shared
        transport.longestStall = .milliseconds(100)
        let slice = FileSlice(file: URL(filePath: "\(folder.path)/file"), offset: 0, count: size)
        let request = Self.request("PUT", origin.url("/"), body: .file(slice))
        let failure = await #expect(throws: TransportFailure.self) {
            try await transport.send(request)
        }
        #expect(failure?.kind == .timedOut)
        #expect(failure?.reason == "The service takes no more of the file.")
    }

    /// Sends `abcdef` to a service that has `abc` when it breaks off, after which the file changes.
    ///
    /// - Returns: the bodies of all requests that have arrived, and why there is not all of it.
    private static func upload(
        _ library: Library,
        change: @escaping @Sendable (TestFolder) throws -> Void
    ) async throws -> (bodies: [String], error: TransferError?) {
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let folder = try TestFolder("upload")
        try folder.write("abcdef", to: "file")
        let file = "\(folder.path)/file"
        // Long before: a system may tell the time of a change in steps of some milliseconds.
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1)],
            ofItemAtPath: file
        )
        origin.when("/v1/tasks/t/body") { request in
            guard request.method == "PUT" else {
                return OriginScript([.head(204, [("Upload-Offset", "3")])])
            }
            guard request.numberAtPath == 1 else {
                return .response(body: .text(FakeService.task("t", state: "queued")))
            }
            do { try change(folder) } catch { Issue.record(error) }
            return .response(503)
        }
        var service = TransferService(
            url: origin.url(""),
            apiKey: "key",
            transport: library.transport
        )
        service.retryPolicy.delayMax = .milliseconds(1)
        let sender = try await BodySender(
            service: service,
            taskID: "t",
            file: URL(filePath: file)
        )
        var failure: TransferError?
        do throws(TransferError) {
            _ = try await sender.send()
        } catch {
            failure = error
        }
        let requests = origin.log.now.requests(at: "/v1/tasks/t/body")
        let bodies = requests.filter { $0.method == "PUT" }
            .map { String(decoding: $0.body, as: UTF8.self) }
        return (bodies, failure)
    }

    @Test(arguments: Library.allCases)
    func continuesWithTheSameFileAlone(_ library: Library) async throws {
        let unchanged = try await Self.upload(library) { _ in }
        #expect(unchanged.bodies == ["abcdef", "def"] && unchanged.error == nil)
        // As rotation of logs does, and whoever writes a file as a whole.
        let replaced = try await Self.upload(library) { folder in
            try folder.write("uvwxyz", to: "new")
            #expect(rename("\(folder.path)/new", "\(folder.path)/file") == 0)
        }
        switch library {
        case .asyncHTTPClient:
            #expect(replaced.bodies == ["abcdef", "def"] && replaced.error == nil)
        case .urlSession:
            // It opens files by their names.
            #expect(replaced.bodies == ["abcdef"] && replaced.error?.code == .fileFailure)
        }
        let written = try await Self.upload(library) { try $0.write("ABCDEF", to: "file") }
        #expect(written.error?.code == .fileFailure)
        #expect(written.error?.message.hasSuffix("It has been changed while it was sent") == true)
        #expect(!written.bodies.contains("DEF"))
    }
}
