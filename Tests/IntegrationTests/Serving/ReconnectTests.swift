import Foundation
import Testing
import TransferClient
import TransferTestSupport
import TransferWire

/// The reconnection of every kind of task, by a client and a service that have both restarted.
@Suite(.timeLimit(.minutes(5))) struct ReconnectTests {
    /// Returns the submitted tasks of a background session; their client strings are their names.
    private static func tasks(_ url: String, resumeData: String) -> [TaskRequest] {
        func download(
            _ name: String,
            at date: Date? = nil,
            autostart: Bool? = nil,
            to destination: DestinationRequest? = nil,
            resumeData: String? = nil,
            _ options: [String: JSONValue] = [:]
        ) -> TaskRequest {
            TaskRequest(
                target: .url(url),
                clientPersistedString: name,
                earliestBeginAt: date.map { Timestamp($0) },
                autostart: autostart,
                destination: destination,
                resumeData: resumeData,
                options: OptionMembers(options)
            )
        }
        func upload(
            _ name: String,
            _ source: UploadRequest,
            method: String? = nil
        ) -> TaskRequest {
            TaskRequest(
                target: .url(url),
                clientPersistedString: name,
                kind: "upload",
                method: method,
                upload: source
            )
        }
        return [
            download("download"),
            download("download to a destination", to: DestinationRequest(path: "a/b")),
            download("download in parts", ["segments_max": .integer(4)]),
            download("download from resume data", resumeData: resumeData),
            download("download that is verified", ["expected_size": .integer(5)]),
            download("download later", at: .distantFuture),
            download(
                "download when asked",
                at: Date(timeIntervalSince1970: 1_577_836_800),
                ["asks_to_begin": .bool(true)]
            ),
            download("download held", autostart: false),
            upload("upload of a file", UploadRequest(path: "there")),
            upload("upload of bytes", UploadRequest(body: BodyRequest(base64: "AAAA"))),
            upload("upload to be brought", UploadRequest(staged: true)),
            upload(
                "upload with POST",
                UploadRequest(body: BodyRequest(base64: "")),
                method: "POST"
            ),
        ]
    }

    /// Returns the submitted tasks of an ephemeral session.
    private static func data(_ url: String) -> [TaskRequest] {
        [
            TaskRequest(target: .url(url), clientPersistedString: "data", kind: "data"),
            TaskRequest(
                target: .url(url),
                clientPersistedString: "data with a body",
                kind: "data",
                method: "POST",
                body: BodyRequest(base64: "AAAA")
            ),
        ]
    }

    @Test func everyKindComesBackAfterAKill() async throws {
        let directory = try DataDirectory()
        let origin = try LoopbackOrigin()
        defer { origin.stop() }
        let gate = OriginGate()
        let body = OriginBody.random(seed: 1, size: 2_000_000)
        origin.when("/cut", .gated(body, after: body.count / 2, gate, headers: [("ETag", "\"1\"")]))
        let first = try await ServiceProcess(in: directory)
        var client = try first.client(key: directory.apiKey())
        let resumeData = try await Self.resumeData(client, origin)
        let tasks = Self.tasks(origin.url("/absent"), resumeData: resumeData)
        try await client.submit(tasks, toSession: "s")
        let data = Self.data(origin.url("/absent"))
        try await client.makeSession("e", SessionRequest(kind: "ephemeral"))
        try await client.submit(data, toSession: "e")
        _ = await first.killNow()

        let second = try await ServiceProcess(in: directory)
        client = try second.client(key: directory.apiKey())
        let (background, ephemeral) = (
            TransferSessionConfiguration.background(withIdentifier: "s"),
            TransferSessionConfiguration.ephemeral(withIdentifier: "e")
        )
        let found = try await reconnect(client, background)
        // The task that was cancelled for its resume data is there too.
        #expect(found.dropFirst() == tasks.map(\.clientPersistedString)[...])
        #expect(try await reconnect(client, ephemeral) == data.map(\.clientPersistedString))
        // Each task is given out once, whatever has restarted.
        #expect(try await reconnect(client, background).isEmpty)
        #expect(await second.terminate() == 0)
    }

    /// Returns the client strings of the tasks that nobody has.
    private func reconnect(
        _ client: TransferService,
        _ configuration: TransferSessionConfiguration
    ) async throws -> [String?] {
        let session = TransferSession(configuration: configuration, service: client)
        return try await session.reconnect().map { try $0.get().taskDescription }
    }

    /// Returns the resume data of a download that is cancelled in its middle.
    private static func resumeData(
        _ client: TransferService,
        _ origin: LoopbackOrigin
    ) async throws -> String {
        let session = TransferSession(
            configuration: .background(withIdentifier: "s"),
            service: client
        )
        let task = session.downloadTask(with: origin.url("/cut"))
        task.taskDescription = "cut"
        task.resume()
        try await eventually("half of it is there") { task.countOfBytesReceived >= 600_000 }
        let data = try #require(try await task.cancelByProducingResumeData())
        try await session.close()
        return data
    }
}
