import Foundation
import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// Values that the schemas of requests allow, which are accepted, and values one step beyond, which
/// are refused by name.
@Suite(.postgresSchema) struct BoundaryTests {
    /// The place to which a schema's values are sent, and the rest of the body.
    struct Place: Sendable, CustomTestStringConvertible {
        let schema: String
        let method: String
        let path: String
        var base = OpenAPIValue.object([:])
        /// The members whose values have to fit others, or have a form that no schema can express:
        /// for these, only values that the schema refuses are sent.
        var interwoven: Set<String> = []
        /// The bodies for members that are sent with one of their own instead of `base`.
        var bases: [String: OpenAPIValue] = [:]

        var testDescription: String { "\(method) \(path)" }
    }

    static let url = OpenAPIValue.object(["url": .string("http://origin.example/a")])

    static let places = [
        Place(
            schema: "SessionRequest",
            method: "PUT",
            path: "/v1/sessions/bounds",
            interwoven: ["/kind", "/configuration/tls/certificate_authorities"]
        ),
        Place(
            schema: "SessionPatchRequest",
            method: "PATCH",
            path: "/v1/sessions/bounds",
            interwoven: ["/configuration/tls/certificate_authorities"]
        ),
        Place(
            schema: "TaskRequest",
            method: "POST",
            path: "/v1/sessions/bounds/tasks",
            base: url.setting("/autostart", to: .bool(false)),
            interwoven: [
                "/url", "/kind", "/body", "/upload/path", "/upload/body", "/upload/staged",
                "/upload/copy",
                "/destination/path", "/resume_data", "/tls/certificate_authorities",
                "/checksums/crc32c", "/checksums/md5", "/checksums/sha-256",
                "/checksums/sha-512",
            ],
            bases: [
                "/components": .object([
                    "components": .object([
                        "scheme": .string("http"), "host": .string("origin.example"),
                    ])
                ]),
                "/destination": url.setting("/destination/path", to: .string("a")),
            ]
        ),
        Place(
            schema: "SubscriptionRequest",
            method: "POST",
            path: "/v1/subscriptions",
            base: .object(["url": .string("http://receiver.example/")]),
            interwoven: ["/url"]
        ),
        Place(
            schema: "CredentialRequest",
            method: "PUT",
            path: "/v1/credentials/bounds",
            base: .object(["kind": .string("bearer"), "token": .string("t")]),
            // Each kind has its own members.
            interwoven: [
                "/kind", "/username", "/password", "/name", "/value", "/token_url", "/client_id",
                "/client_secret", "/client_secret_in_body", "/refresh_token", "/scope",
                "/certificate", "/private_key", "/token", "/origins",
            ]
        ),
        Place(schema: "ClientRequest", method: "PUT", path: "/v1/clients/bounds"),
        Place(
            schema: "ReconnectRequest",
            method: "POST",
            path: "/v1/sessions/bounds/reconnect",
            interwoven: ["/cursor", "/creation_info"],
            bases: [
                "/persisted_format": .object([
                    "persisted_format": .object([
                        "version": .integer(1), "kinds": .array([.string("photo")]),
                    ])
                ]),
                "/creation_info": .object([
                    "creation_info": .object([
                        "client": .string("a"), "shared_container_identifier": .string("a"),
                    ])
                ]),
            ]
        ),
    ]

    @Test(arguments: places)
    func whatTheSchemaAllowsIsTakenAndNothingPastIt(_ place: Place) async throws {
        let document = try APIServer.document()
        let root = OpenAPIValue.object(["$ref": .string("#/components/schemas/\(place.schema)")])
        try await APIServer.run { server in
            _ = try await server.session("bounds")
            var valid = 0
            var invalid = 0
            for (pointer, schema) in document.schema.members(of: root).sorted(by: {
                $0.key < $1.key
            }) {
                let ancestors = place.interwoven.filter { "\(pointer)/".hasPrefix("\($0)/") }
                let base = place.bases.first { pointer.hasPrefix("\($0.key)/") }?.value
                for boundary in document.schema.boundaries(of: schema) {
                    let body = (base ?? place.base).setting(pointer, to: boundary.value)
                    let faults = try await Self.faults(of: body, at: place, on: server)
                    let isNamed = faults.contains {
                        $0 == pointer || $0.hasPrefix("\(pointer)/") || "\(pointer)/".hasPrefix($0)
                    }
                    if !boundary.isValid {
                        invalid += 1
                        let isRefused = isNamed || faults == [Self.unreadable]
                        #expect(isRefused, "\(pointer) took \(boundary.value), \(faults)")
                    } else if ancestors.isEmpty {
                        valid += 1
                        #expect(!isNamed, "\(pointer) refused \(boundary.value)")
                    }
                }
            }
            #expect(invalid > 0)
            #expect(valid > 0 || place.schema == "CredentialRequest")
        }
    }

    /// What is misspelt and ignored does something else than what was asked for.
    @Test func everyBodyRefusesAMemberThatItDoesNotHave() async throws {
        let document = try APIServer.document()
        try await APIServer.run { server in
            let task = try await server.submit(try await server.session("bounds"))
            var refused = 0
            for operation in document.operations {
                let described =
                    document.root["paths"]?[operation.path]?[operation.method.lowercased()]
                guard described?["requestBody"]?["content"]?["application/json"] != nil else {
                    continue
                }
                let path = operation.path
                    .replacing("{client}", with: "default")
                    .replacing("{id}", with: "\(task)")
                    .replacing("{identifier}", with: "bounds")
                    .replacing("{name}", with: "bounds")
                // Submissions alone say first what they lack.
                let base = path.hasSuffix("/tasks") ? Self.url : .object([:])
                for value in [OpenAPIValue.bool(true), .null] {
                    let body = base.setting("/stranger", to: value)
                    let answer = try await server.send(
                        operation.method,
                        path,
                        bytes: Array(try JSONEncoder().encode(body))
                    )
                    // What the path names may be unknown, or in no state for it.
                    if operation.path.contains("{id}"), [404, 409].contains(answer.status) {
                        continue
                    }
                    refused += 1
                    #expect(answer.faults == ["/stranger unknown_field"], "\(operation) \(value)")
                }
            }
            #expect(refused >= 30)
        }
    }

    @Test func theContractHasTheDeclaredOptionsAndNoOthers() throws {
        let document = try APIServer.document()
        func members(_ name: String) -> Set<String> {
            let root = OpenAPIValue.object(["$ref": .string("#/components/schemas/\(name)")])
            return Set(document.schema.members(of: root).keys.map { String($0.dropFirst()) })
        }
        let options = TransferOptions.all
        let ofSessions = Set(options.filter { !$0.isForTasksOnly }.map(\.name))
        #expect(members("TransferOptions").subtracting(TransferOptions.groups) == ofSessions)
        #expect(members("SessionConfigurationRequest").isSuperset(of: ofSessions))
        #expect(members("TaskRequest").isSuperset(of: options.map(\.name)))
        #expect(ofSessions.count > 10)
    }

    private static let unreadable = "the body"

    /// Returns the pointers of refused members.
    private static func faults(
        of body: OpenAPIValue,
        at place: Place,
        on server: APIServer
    ) async throws -> [String] {
        let answer = try await server.send(
            place.method,
            place.path,
            bytes: Array(try JSONEncoder().encode(body))
        )
        // A number that fits no type of the service makes the whole body refused.
        if answer.status == 400 { return [Self.unreadable] }
        guard answer.status == 422 else {
            #expect(answer.status < 300 || [403, 404, 409, 413].contains(answer.status))
            return []
        }
        return try answer.json(ProblemDetails.self).errors?.compactMap(\.pointer) ?? []
    }
}
