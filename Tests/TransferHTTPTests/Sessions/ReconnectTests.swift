import Foundation
import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite(.postgresSchema) struct ReconnectTests {
    private static let group =
        #"{"configuration": {"shared_container_identifier": "group.photos"}}"#

    private func reconnect(
        _ server: APIServer,
        _ session: String,
        _ body: String? = nil,
        location: SourceLocation = #_sourceLocation
    ) async throws -> ReconnectionDocument {
        try await server.send("POST", "\(session)/reconnect", body, location: location)
            .json(ReconnectionDocument.self)
    }

    private func submit(
        _ server: APIServer,
        _ session: String,
        _ clientString: String?
    ) async throws -> TaskID {
        let text = try clientString.map { clientString in
            let json = String(decoding: try JSONEncoder().encode(clientString), as: UTF8.self)
            return #", "client_persisted_string": \#(json)"#
        }
        return try await server.submit(
            session,
            #"{"url": "http://origin.example/a"\#(text ?? "")}"#
        )
    }

    @Test func eachItemIsATaskOrTheReasonWhyItIsNone() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let strings: [String?] = [
                #"{"version": 2, "kind": "photo", "path": "/a"}"#, nil,
                #"{"version": 1, "kind": "photo"}"#, "photo", #"{"version": 2, "kind": "video"}"#,
                #"{"version": 2, "kind": "thumb"}"#,
            ]
            var ids: [String] = []
            for string in strings {
                ids.append(try await submit(server, session, string).description)
            }
            let format = #"{"persisted_format": {"version": 2, "kinds": ["photo", "thumb"]}}"#
            let taken = try await reconnect(server, session, format)
            #expect(taken.items.map { $0.ok?.id ?? $0.error?.taskID } == ids)
            #expect(
                taken.items.map { $0.error?.kind } == [
                    nil, "no_persisted_info", "version_mismatch", "bad_persisted_format",
                    "missing_reconnection_case", nil,
                ]
            )
            #expect(taken.items[0].ok?.clientPersistedString == strings[0])
            // The task is held nevertheless, and can be read.
            #expect(try await reconnect(server, session).items.isEmpty)
            #expect(try await server.send("GET", "/v1/tasks/\(ids[3])").status == 200)
        }
    }

    @Test func clientStringsAreOpaqueUnlessAFormatIsDeclared() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            _ = try await submit(server, session, "anything")
            _ = try await submit(server, session, nil)
            let taken = try await reconnect(server, session)
            #expect(taken.items.map { $0.error?.kind } == [nil, "no_persisted_info"])
        }
    }

    @Test func aLeaseIsRenewedAndReleased() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            for _ in 0..<3 { _ = try await submit(server, session, "a") }
            let body = #"{"owner": "pod-7", "lease_seconds": 30, "limit": 2}"#
            let first = try await reconnect(server, session, body)
            #expect(first.items.count == 2)
            let cursor = try #require(first.nextCursor)
            let rest = try await reconnect(server, session, #"{"cursor": "\#(cursor)"}"#)
            #expect(rest.items.count == 1)
            #expect(rest.nextCursor == nil)
            let path = "/v1/leases/\(try #require(first.leaseToken))"
            let renewed = try await server.send("PATCH", path, #"{"lease_seconds": 3600}"#)
                .json(LeaseDocument.self)
            #expect(renewed.tasks == 2)
            let kept = try await server.send("PATCH", path, #"{"lease_seconds": null}"#)
                .json(LeaseDocument.self)
            #expect(kept.leaseExpiresAt == nil)
            let foreign = try await server.send("DELETE", path, as: server.second)
            #expect(foreign.code == .unknownLease)
            #expect(try await server.send("DELETE", path).status == 204)
            #expect(try await server.send("DELETE", path).code == .unknownLease)
            #expect(try await server.send("PATCH", path, "{}").code == .unknownLease)
            #expect(try await reconnect(server, session).items.count == 2)
        }
    }

    @Test func aSubmissionWithALeaseIsItsSubmittersOwn() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let token = "6f1f2a52-26a4-4f7b-9c0e-0f8e6a9d3b11"
            let fields = [
                ("Lease-Token", token), ("Lease-Seconds", "30"), ("Lease-Owner", "pod-7"),
            ]
            let task = #"{"url": "http://origin.example/a", "client_persisted_string": "a"}"#
            func submit(
                _ body: String,
                _ fields: [(String, String)]
            ) async throws -> HTTPClient.Answer {
                try await server.send("POST", "\(session)/tasks", body, fields: fields)
            }
            #expect(try await submit("[\(task), \(task)]", fields).status == 202)
            let free = try await submit(task, []).json(TaskReceipt.self)
            let taken = try await reconnect(server, session)
            #expect(taken.items.map { $0.ok?.id } == [free.id])
            let path = "/v1/leases/\(token)"
            let renewed = try await server.send("PATCH", path, #"{"lease_seconds": 3600}"#)
            #expect(try renewed.json(LeaseDocument.self).tasks == 2)
            let many = "[\(Array(repeating: task, count: 999).joined(separator: ","))]"
            #expect(try await submit(many, fields).faults == ["Lease-Token invalid_value"])
            #expect(try await server.send("DELETE", path).status == 204)
            #expect(try await reconnect(server, session).items.count == 2)
            for (fields, fault) in [
                ([("Lease-Token", "mine")], "Lease-Token"), ([("Lease-Owner", "a")], "Lease-Owner"),
                ([("Lease-Token", token), ("Lease-Seconds", "0")], "Lease-Seconds"),
                ([("Lease-Token", token), ("Lease-Seconds", "x")], "Lease-Seconds"),
                (
                    [("Lease-Token", token), ("Content-Type", "application/x-ndjson")],
                    "Lease-Token"
                ),
            ] {
                #expect(try await submit(task, fields).faults == ["\(fault) invalid_value"])
            }
        }
    }

    @Test func aPutSessionCanReconnectAtOnce() async throws {
        try await APIServer.run { server in
            let made = try await server.send("PUT", "/v1/sessions/photos?reconnect=true")
            #expect(made.status == 201)
            #expect(try made.json(SessionDocument.self).reconnection?.items.isEmpty == true)
            let id = try await submit(server, "/v1/sessions/photos", "a")
            let plain = try await server.send("PUT", "/v1/sessions/photos?reconnect=false")
            #expect(try plain.json(SessionDocument.self).reconnection == nil)
            let found = try await server.send("PUT", "/v1/sessions/photos?reconnect=true")
                .json(SessionDocument.self)
            #expect(found.outstanding == 1)
            #expect(found.reconnection?.items.map { $0.ok?.id } == [id.description])
            let bad = try await server.send("PUT", "/v1/sessions/photos?reconnect=1")
            #expect(bad.faults == ["reconnect invalid_value"])
        }
    }

    @Test func aSessionOfAnExtensionNeedsAContainer() async throws {
        try await APIServer.run { server in
            try await server.send("PUT", "/v1/clients/share", #"{"kind": "extension"}"#)
            let path = "/v1/sessions/a?client=share"
            let fault = ["/configuration/shared_container_identifier shared_container_required"]
            #expect(try await server.send("PUT", path).faults == fault)
            #expect(try await server.send("GET", path).code == .unknownSession)
            let made = try await server.send("PUT", path, Self.group)
            #expect(made.status == 201)
            let configuration = try made.json(SessionDocument.self).configuration
            #expect(configuration.sharedContainerIdentifier == "group.photos")
            let kept = try await server.send("PUT", path).json(SessionDocument.self).configuration
            #expect(kept.sharedContainerIdentifier == "group.photos")
            let bare = #"{"configuration": {}}"#
            #expect(try await server.send("PUT", path, bare).faults == fault)
            let cleared = #"{"configuration": {"shared_container_identifier": null}}"#
            #expect(try await server.send("PATCH", path, cleared).faults == fault)
            let other = #"{"configuration": {"timeout_for_request": 5}}"#
            let changed = try await server.send("PATCH", path, other).json(SessionDocument.self)
            #expect(changed.configuration.sharedContainerIdentifier == "group.photos")
            // An app may name a group, and need not.
            #expect(try await server.send("PUT", "/v1/sessions/a", Self.group).status == 201)
            #expect(try await server.send("PATCH", "/v1/sessions/a", cleared).status == 200)
        }
    }

    @Test func anAppAdoptsTheSessionOfAnExtension() async throws {
        try await APIServer.run { server in
            try await server.send("PUT", "/v1/clients/share", #"{"kind": "extension"}"#)
            try await server.send("PUT", "/v1/sessions/a?client=share", Self.group)
            let task = try await server.send(
                "POST",
                "/v1/sessions/a/tasks?client=share",
                #"{"url": "http://origin.example/a", "client_persisted_string": "x"}"#
            ).json(TaskReceipt.self)
            func adoption(_ client: String, _ container: String) -> String {
                #"""
                {"creation_info": {"client": "\#(client)",
                    "shared_container_identifier": "\#(container)"}}
                """#
            }
            func adopt(
                _ body: String,
                by client: String = "default",
                as tenant: APIServer.Tenant? = nil
            ) async throws -> HTTPClient.Answer {
                try await server.send(
                    "POST",
                    "/v1/sessions/a/reconnect?client=\(client)",
                    body,
                    as: tenant
                )
            }
            let good = adoption("share", "group.photos")
            #expect(
                try await adopt(adoption("share", "group.other")).faults
                    == ["/creation_info/shared_container_identifier invalid_value"]
            )
            #expect(
                try await adopt(adoption("default", "group.photos")).faults
                    == ["/creation_info/client invalid_value"]
            )
            #expect(
                try await adopt(good, by: "share").faults == ["/creation_info/client invalid_value"]
            )
            #expect(try await adopt(adoption("absent", "a")).code == .unknownClient)
            // Another tenant sees nothing of it, whether or not it has such a client.
            #expect(try await adopt(good, as: server.second).status == 404)
            try await server.send(
                "PUT",
                "/v1/clients/share",
                #"{"kind": "extension"}"#,
                as: server.second
            )
            #expect(try await adopt(good, as: server.second).code == .unknownSession)
            let adopted = try await adopt(good).json(ReconnectionDocument.self)
            #expect(adopted.items.map { $0.ok?.id } == [task.id])
            #expect(adopted.items.map { $0.ok?.client } == ["share"])
        }
    }

    @Test(
        arguments: [
            (#"{"limit": 0}"#, "/limit invalid_value"),
            (#"{"limit": 1001}"#, "/limit invalid_value"),
            (#"{"lease_seconds": 0}"#, "/lease_seconds invalid_value"),
            (#"{"lease_seconds": 86401}"#, "/lease_seconds invalid_value"),
            (#"{"owner": ""}"#, "/owner invalid_value"),
            (#"{"cursor": "x"}"#, "/cursor invalid_value"),
            (
                #"{"persisted_format": {"version": 1, "kinds": []}}"#,
                "/persisted_format/kinds invalid_value"
            ),
            (#"{"persisted_format": {"kinds": ["a"]}}"#, "/persisted_format/version required"),
            (
                #"{"creation_info": {"client": "a b", "shared_container_identifier": "a"}}"#,
                "/creation_info/client invalid_value"
            ),
            (#"{"more": 1}"#, "/more unknown_field"),
        ]
    )
    func whatCannotBeMeantIsRefused(body: String, fault: String) async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            _ = try await submit(server, session, "a")
            let answer = try await server.send("POST", "\(session)/reconnect", body)
            #expect(answer.faults == [fault])
            #expect(try await reconnect(server, session).items.count == 1)
        }
    }

    @Test func anUnknownSessionIsTold() async throws {
        try await APIServer.run { server in
            let answer = try await server.send("POST", "/v1/sessions/absent/reconnect")
            #expect(answer.code == .unknownSession)
        }
    }
}
