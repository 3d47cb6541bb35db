import Foundation
import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// The forms in which clients give the bytes that a task sends.
@Suite(.postgresSchema) struct BodyFormTests {
    @Test(
        arguments: [
            (#"{"base64": "AAE="}"#, [0, 1], nil),
            (#"{"base64": ""}"#, [], nil),
            (#"{"text": "gr\u00fcn"}"#, Array("gr\u{FC}n".utf8), "text/plain; charset=utf-8"),
            (
                #"{"json": {"b": [1, 2.5, true, null, "x"], "a": 9007199254740993}}"#,
                Array(#"{"a":9007199254740993,"b":[1,2.5,true,null,"x"]}"#.utf8), "application/json"
            ),
            (#"{"json": "text"}"#, Array(#""text""#.utf8), "application/json"),
            (
                #"{"form": [{"name": "q", "value": "a b&c=d"}, {"name": "*~", "value": "\u00fc"}]}"#,
                Array("q=a+b%26c%3Dd&*%7E=%C3%BC".utf8), "application/x-www-form-urlencoded"
            ),
        ] as [(String, [UInt8], String?)]
    )
    func aBodyIsSentAsItsForm(body: String, bytes: [UInt8], type: String?) async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let members: [(String, String)] = [
                (#""body": \#(body)"#, "POST"),
                (#""kind": "upload", "upload": {"body": \#(body)}"#, "PUT"),
            ]
            for (members, method) in members {
                let id = try await server.submit(
                    session,
                    #"{"url": "http://o.example/", \#(members)}"#
                )
                let claim = try await server.claim()
                #expect(claim.task == id)
                #expect(claim.request.method == method)
                #expect(claim.request.upload == .data(bytes))
                let types = claim.headers.filter { $0.name.lowercased() == "content-type" }
                #expect(types.map(\.value) == (type.map { [$0] } ?? []))
            }
        }
    }

    /// Only one of them would be sent, without a word.
    @Test(arguments: [
        (#"{"\u00e9": 1, "e\u0301": 2, "z": 0}"#, "/é"), (#"{"a": 1, "\u0061": 2}"#, "/a"),
        (#"[{"a": 1}, {"b": {"\u00e9": 1, "e\u0301": 1e0}}]"#, "/1/b/é"),
    ])
    func membersWithEqualNamesAreRefused(json: String, member: String) async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let task = #"{"url": "http://o.example/", "body": {"json": \#(json)}}"#
            for (body, place) in [(task, ""), ("[\(task)]", "/0")] {
                let answer = try await server.send("POST", "\(session)/tasks", body)
                #expect(answer.status == 422)
                #expect(answer.faults == ["\(place)/body/json\(member) invalid_value"])
            }
            let line = try await server.send(
                "POST",
                "\(session)/tasks",
                task,
                fields: [("Content-Type", "application/x-ndjson")]
            )
            #expect(line.status == 422)
        }
    }

    @Test func aFormWithFilesNamesItsBoundary() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let body = #"{"multipart": [{"name": "a", "text": "b"}]}"#
            _ = try await server.submit(
                session,
                #"{"url": "http://o.example/", "body": \#(body)}"#
            )
            let claim = try await server.claim()
            #expect(claim.request.method == "POST")
            let type = try #require(claim.headers.first { $0.name == "Content-Type" }).value
            let boundary = try #require(type.split(separator: "=").last)
            let sent = """
                --\(boundary)\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n\
                --\(boundary)--\r\n
                """
            #expect(claim.request.upload == .data(Array(sent.utf8)))
        }
    }

    @Test(
        arguments: [
            (#""body": {"multipart": []}"#, "/body/multipart"),
            (#""body": {"multipart": [{"name": "", "text": "b"}]}"#, "/body/multipart/0/name"),
            (#""body": {"multipart": [{"name": "a"}]}"#, "/body/multipart/0"),
            (
                #""body": {"multipart": [{"name": "a", "text": "b", "base64": ""}]}"#,
                "/body/multipart/0"
            ),
            (
                #""body": {"multipart": [{"name": "a", "base64": "?"}]}"#,
                "/body/multipart/0/base64"
            ),
            (
                #""body": {"multipart": [{"name": "a", "text": "b", "content_type": "a/b\r\nX: y"}]}"#,
                "/body/multipart/0/content_type"
            ),
            (
                #""body": {"multipart": [{"name": "a", "text": "b", "filename": ""}]}"#,
                "/body/multipart/0/filename"
            ),
            (#""body": {"text": "a", "multipart": [{"name": "a", "text": "b"}]}"#, "/body"),
            (
                #""body": {"multipart": [{"name": "a", "text": "b"}]}, "headers": {"content-type": "a/b"}"#,
                "/headers/content-type"
            ),
        ]
    )
    func whatIsNoFormWithFilesIsRefused(members: String, place: String) async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            let answer = try await server.send(
                "POST",
                "\(session)/tasks",
                #"{"url": "http://o.example/", \#(members)}"#
            )
            #expect(answer.faults == ["\(place) invalid_value"])
        }
    }

    @Test func theTasksOwnTypeAndMethodWin() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            _ = try await server.submit(
                session,
                """
                {"url": "http://o.example/", "method": "QUERY", "body": {"text": "a"},
                 "headers": {"content-type": "application/sql"}}
                """
            )
            let claim = try await server.claim()
            #expect(claim.request.method == "QUERY")
            #expect(claim.headers.map(\.value) == ["application/sql"])
        }
    }

    @Test func aBodyOfMoreThanSixtyFourKiBIsRefused() async throws {
        try await APIServer.run { server in
            let session = try await server.session()
            for (length, status) in [(65_536, 202), (65_537, 422)] {
                let text = String(repeating: "a", count: length)
                let answer = try await server.send(
                    "POST",
                    "\(session)/tasks",
                    #"{"url": "http://o.example/", "body": {"text": "\#(text)"}}"#
                )
                #expect(answer.status == status)
                if status == 422 { #expect(answer.faults == ["/body invalid_value"]) }
            }
        }
    }
}
