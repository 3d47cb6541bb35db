import Foundation
import Testing
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

/// The files of the page as browsers get them.
@Suite(.postgresSchema) struct PageTests {
    private static func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: Checkout.page).sorted()
    }

    @Test func everyFileIsServedAsItIsWithoutAKey() async throws {
        try await APIServer.run { server in
            let types = [
                "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
                "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml",
            ]
            let names = try Self.names()
            #expect(names.contains("app.js"))
            for name in names {
                let answer = try await server.sendPlain("GET", "/page/\(name)")
                #expect(answer.status == 200)
                let file = try Data(contentsOf: URL(filePath: "\(Checkout.page)/\(name)"))
                #expect(Data(answer.body) == file, "\(name)")
                let type = URL(filePath: name).pathExtension
                #expect(answer.fields["content-type"] == types[type], "\(name)")
            }
            let index = try await server.sendPlain("GET", "/")
            let file = try Data(contentsOf: URL(filePath: "\(Checkout.page)/index.html"))
            #expect(Data(index.body) == file)
            #expect(index.fields["content-type"] == types["html"])
            let head = try await server.sendPlain("HEAD", "/")
            #expect(head.status == 200)
            #expect(head.fields["content-length"] == "\(file.count)")
        }
    }

    @Test func browsersAreToldWhatThePageMayDo() async throws {
        try await APIServer.run { server in
            for path in ["/", "/page/app.js", "/page/style.css"] {
                let fields = try await server.sendPlain("GET", path).fields
                let rules = try #require(fields["content-security-policy"])
                let directives = Set(rules.split(separator: ";").map { $0.trimming() })
                #expect(
                    directives == [
                        "default-src 'none'", "script-src 'self'", "style-src 'self'",
                        "img-src 'self'", "connect-src 'self'", "base-uri 'none'",
                        "form-action 'none'", "frame-ancestors 'none'",
                        "require-trusted-types-for 'script'", "trusted-types 'none'",
                    ]
                )
                #expect(fields["x-content-type-options"] == "nosniff")
                #expect(fields["referrer-policy"] == "no-referrer")
                #expect(fields["cross-origin-opener-policy"] == "same-origin")
                #expect(fields["cross-origin-resource-policy"] == "same-origin")
            }
            // Answers for programs keep stricter rules.
            let other = try await server.sendPlain("GET", "/livez").fields
            #expect(
                other["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
            )
            #expect(other["cache-control"] == "no-store")
        }
    }

    @Test func anUnchangedFileIsNotSentAgain() async throws {
        try await APIServer.run { server in
            let first = try await server.sendPlain("GET", "/page/app.js")
            let etag = try #require(first.fields["etag"])
            #expect(first.fields["cache-control"] == "no-cache")
            #expect(etag != (try await server.sendPlain("GET", "/page/api.js")).fields["etag"])
            for field in [etag, "W/\(etag)", "\"other\", \(etag)"] {
                let again = try await server.sendPlain(
                    "GET",
                    "/page/app.js",
                    fields: [("If-None-Match", field)]
                )
                #expect(again.status == 304)
                #expect(again.body.isEmpty)
                #expect(again.fields["etag"] == etag)
                #expect(again.fields["content-security-policy"] != nil)
            }
            let changed = try await server.sendPlain(
                "GET",
                "/page/app.js",
                fields: [("If-None-Match", "\"other\"")]
            )
            #expect(changed.status == 200)
        }
    }

    @Test func nothingElseIsServed() async throws {
        try await APIServer.run { server in
            let paths = [
                "/page/none.js", "/page/..%2Fopenapi.yaml", "/page/%2e%2e/openapi.yaml",
                "/page/app.js/more", "/page/../Package.swift", "/page/%00", "/page/",
            ]
            for path in paths {
                let answer = try await server.client.exchange(
                    HTTPClient.request("GET", path, fields: [], body: nil)
                )
                #expect(answer.status == 404, "\(path)")
                #expect(answer.code == .unknownRoute, "\(path)")
            }
            // The page does not open what is beside it.
            #expect(try await server.sendPlain("GET", "/pages").status == 401)
            #expect(try await server.sendPlain("GET", "/v1/tenant").status == 401)
        }
    }

    @Test func aFolderWithoutThePageIsRefused() throws {
        let folder = try TestFolder("page")
        #expect(throws: PageFiles.NoPage.self) { try PageFiles(folder: folder.path) }
        #expect(throws: PageFiles.NoPage.self) { try PageFiles(folder: "\(folder.path)/none") }
    }
}

extension Substring {
    fileprivate func trimming() -> String { trimmingCharacters(in: .whitespaces) }
}
