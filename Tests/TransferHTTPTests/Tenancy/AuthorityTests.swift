import Testing
import TransferModel
import TransferTestSupport
import TransferWire

@testable import TransferHTTP

@Suite(.postgresSchema) struct AuthorityTests {
    private static let path = "/v1/tenant/certificate-authorities"

    @Test func areThereFromTheFirstPutToTheDelete() async throws {
        let pem = String(decoding: try await TestAuthority().certificate, as: UTF8.self)
        let body = #"{"certificate_authorities": "\#(pem.replacing("\n", with: "\\n"))"}"#
        try await APIServer.run { server in
            let none = try await server.send("GET", Self.path)
            #expect(none.code == .noCertificateAuthorities)
            #expect(none.detail?.contains("PUT \(Self.path)") == true)
            let put = try await server.send("PUT", Self.path, body)
            #expect(put.status == 200)
            #expect(try put.json(AuthoritiesDocument.self).count == 1)
            let found = try await server.send("GET", Self.path).json(AuthoritiesDocument.self)
            #expect(found.certificateAuthorities == pem)
            // Each claim has the tenant's authorities, and those of no other tenant.
            _ = try await server.submit(try await server.session())
            let claim = try await server.claim()
            #expect(claim.tenantAuthorities?.pem == Array(pem.utf8))
            let foreign = try await server.send("GET", Self.path, as: server.second)
            #expect(foreign.code == .noCertificateAuthorities)
            let session = try await server.session("theirs", as: server.second)
            _ = try await server.submit(session, as: server.second)
            #expect(try await server.claim().tenantAuthorities == nil)
            for _ in 0..<2 {
                #expect(try await server.send("DELETE", Self.path).status == 204)
            }
            #expect(try await server.send("GET", Self.path).status == 404)
        }
    }

    @Test(arguments: ["", "none", "-----BEGIN PRIVATE KEY-----"])
    func whatHoldsNoCertificateIsRefused(text: String) async throws {
        try await APIServer.run { server in
            let answer = try await server.send(
                "PUT",
                Self.path,
                #"{"certificate_authorities": "\#(text)"}"#
            )
            #expect(answer.faults == ["/certificate_authorities invalid_value"])
        }
    }
}
