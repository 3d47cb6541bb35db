import Testing
import TransferModel
import TransferStore
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

extension APIServer {
    static let tasks = "/v1/background-tasks"

    /// Permits all identifiers, and registers handlers of the default client.
    func register(_ handlers: [(String, String)] = [("refresh", "app_refresh")]) async throws {
        try await send(
            "PATCH",
            "/v1/tenant/background-settings",
            #"{"permitted_identifiers": ["*"]}"#
        )
        for (identifier, kind) in handlers {
            let answer = try await send(
                "PUT",
                "\(Self.tasks)/handlers/\(identifier)",
                #"{"kind": "\#(kind)"}"#
            )
            #expect(answer.status == 201)
        }
    }

    /// Submits a request with further members of the body.
    @discardableResult
    func request(_ identifier: String = "refresh", _ members: String = "") async throws
        -> HTTPClient.Answer
    {
        let more = members.isEmpty ? "" : ", \(members)"
        return try await send(
            "POST",
            "\(Self.tasks)/requests",
            #"{"identifier": "\#(identifier)"\#(more)}"#
        )
    }

    func pending() async throws -> [BackgroundTaskRequestDocument] {
        try await send("GET", "\(Self.tasks)/requests").json(
            Page<BackgroundTaskRequestDocument>.self
        ).items
    }

    /// The runs of the default client, the newest first.
    func runs() async throws -> [RunDocument] {
        try await send("GET", "\(Self.tasks)/runs").json(Page<RunDocument>.self).items
    }

    func run(_ id: String) async throws -> RunDocument {
        try await send("GET", "\(Self.tasks)/runs/\(id)").json(RunDocument.self)
    }

    /// Changes a run by a verb of its route.
    @discardableResult
    func change(
        _ run: String,
        _ verb: String,
        _ body: String? = nil
    ) async throws -> HTTPClient.Answer {
        try await send("POST", "\(Self.tasks)/runs/\(run)/\(verb)", body)
    }

    /// Submits a request that is due, launches it, and returns its run.
    func launch(_ identifier: String = "refresh", _ members: String = "") async throws
        -> RunDocument
    {
        #expect(try await request(identifier, members).status == 201)
        try await stores.advanceTimers()
        return try #require(try await runs().first)
    }
}
