import Curl
import PollLoop
import Foundation
import Logging
import Synchronization
import Testing
import TransferContainer
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferEngine

/// The certificate that a claim shows to the origin of its task.
@Suite(.postgresSchema, .timeLimit(.minutes(2))) struct ClientCertificateTests {
    private let authority: TestAuthority
    private let otherAuthority: TestAuthority

    init() async throws {
        authority = try await TestAuthority()
        otherAuthority = try await TestAuthority()
    }

    /// Starts a server that talks only to clients with a certificate.
    private func server(
        of authority: TestAuthority,
        answer: String = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    ) async throws -> TLSServer {
        try await TLSServer(
            authority.issue(),
            of: authority,
            .answer(Array(answer.utf8)),
            options: [
                "-Verify", "1", "-verify_return_error", "-CAfile", self.authority.certificatePath,
            ]
        )
    }

    /// Runs one attempt until it ends.
    ///
    /// - Returns: whether it has its result.
    private func isFinished(
        _ kind: TransferRequest.Kind,
        _ url: String,
        certificate: ClientCertificate?
    ) async throws -> Bool {
        var claim = TaskClaim(
            task: TaskID(.version7()),
            fence: Fence(rawValue: 1),
            tenant: TenantID(UUID()),
            session: SessionID(UUID()),
            hostKey: HostKey(rawValue: 1),
            number: 1,
            url: url,
            request: TransferRequest(kind: kind),
            headers: [],
            destination: nil,
            timeoutForRequest: .seconds(60),
            timeoutForResource: .seconds(60),
            tenantAuthorities: CertificateAuthorities(
                stored: authority.certificate + otherAuthority.certificate
            )
        )
        claim.clientCertificate = certificate
        let folder = try TestFolder("certificates")
        defer { withExtendedLifetime(folder) {} }
        let container = try Container(directory: folder.path)
        let loops = try CurlLoops(name: "curl-test", count: 1)
        defer { loops.stop() }
        let configuration = EngineConfiguration(egress: EgressGuard { _ in true })
        let parsed = try CurlURL(url)
        let verifier = try Verifier()
        let keeper = UploadResourceKeeper(
            store: UploadResourceStore(Database(pool: TestDatabase.current.pool())),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let disk = try BlockingPool<TenantID>(name: "disk-test", threadsMax: 1)
        return try await withCheckedThrowingContinuation { continuation in
            let onEnd = { @Sendable (isFinished: Bool) in
                continuation.resume(returning: isFinished)
            }
            if kind == .download {
                Download(
                    claim,
                    url: parsed,
                    container: container,
                    packs: Packs(container),
                    disk: disk,
                    configuration: configuration,
                    active: ActiveAttempts(on: loops, connectionsMax: 1) {
                        ConnectionSlots.Place(flow: $0.flow)
                    },
                    verifier: verifier,
                    onReached: { _ in },
                    onCheckpoint: {}
                ) { ended in
                    if case .finished = ended.end { return onEnd(true) }
                    onEnd(false)
                }.begin(on: loops.first)
            } else {
                Exchange(
                    claim,
                    url: parsed,
                    container: container,
                    disk: disk,
                    configuration: configuration,
                    uploadResources: keeper,
                    onReached: { _ in }
                ) { ended in
                    if case .finished = ended.end { return onEnd(true) }
                    onEnd(false)
                }.begin(on: loops.first)
            }
        }
    }

    @Test(arguments: [TransferRequest.Kind.download, .data])
    func isShownToTheOriginOfTheTask(kind: TransferRequest.Kind) async throws {
        let server = try await server(of: authority)
        let own = try await authority.issue(names: "DNS:client")
        let certificate = ClientCertificate(certificate: own.certificate, key: own.key)
        #expect(try await isFinished(kind, server.url(), certificate: certificate))
        #expect(try await !isFinished(kind, server.url(), certificate: nil))
    }

    @Test(arguments: [TransferRequest.Kind.download, .data])
    func isNotShownToWhereARedirectLeads(kind: TransferRequest.Kind) async throws {
        let end = try await server(of: otherAuthority)
        let begin = try await server(
            of: authority,
            answer: "HTTP/1.1 302 Found\r\nLocation: \(end.url())\r\nContent-Length: 0\r\n\r\n"
        )
        let own = try await authority.issue(names: "DNS:client")
        let certificate = ClientCertificate(certificate: own.certificate, key: own.key)
        #expect(try await isFinished(kind, end.url(), certificate: certificate))
        #expect(try await !isFinished(kind, begin.url(), certificate: certificate))
    }

    @Test func noDescriptionShowsTheKey() {
        let certificate = ClientCertificate(certificate: [1, 2, 3], key: Array("secret".utf8))
        var dumped = ""
        dump([certificate], to: &dumped)
        for text in ["\(certificate)", String(reflecting: [certificate]), dumped] {
            #expect(text.contains("3 bytes"))
            #expect(!text.contains("115") && !text.contains("secret"))
        }
    }
}
