import ChildProcess
import Foundation
import Glibc

/// A real server of HTTP/2 over TLS on 127.0.0.1: nginx as a child process.
package final class NginxServer: Sendable {
    /// The port the system has chosen.
    package var port: UInt16 { held.number }
    private let held: HeldPort
    private let program: ChildProcess

    private static let paths = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"]

    /// Whether nginx is installed; the tests do not require it.
    package static var isInstalled: Bool { paths.contains { access($0, X_OK) == 0 } }

    /// Starts the server, which answers with `body`.
    ///
    /// - Parameters:
    ///   - certificate: the certificate that it shows.
    ///   - authority: the authority in whose folder it runs.
    ///   - body: the bytes at ``url``.
    ///   - directives: more of its configuration.
    /// - Throws: ``NeverHappened`` without an nginx, or what the system refuses.
    package init(
        _ certificate: TestAuthority.Certificate,
        of authority: TestAuthority,
        body: OriginBody,
        directives: String = ""
    ) async throws {
        let folder = authority.folder
        try Data(body.bytes).write(to: URL(filePath: "\(folder.path)/body"))
        // Listen here and hand the socket over, as nginx does between its own versions: no port has
        // to be guessed, and connections wait until nginx runs.
        held = try HeldPort()
        let listener = try held.listen(backlog: 511)
        defer { close(listener) }
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(folder.path);" }.joined(separator: " ")
        let configuration = """
            daemon off; worker_processes 1; pid \(folder.path)/nginx.pid; error_log /dev/null;
            events {}
            http {
                access_log off; \(temporary)
                server {
                    listen 127.0.0.1:\(held.number) ssl http2;
                    ssl_certificate \(certificate.certificatePath);
                    ssl_certificate_key \(certificate.keyPath);
                    root \(folder.path); \(directives)
                }
            }
            """
        try folder.write(configuration, to: "nginx.conf")
        var environment = TestAuthority.environment(folder)
        environment["NGINX"] = "3;"
        guard let path = Self.paths.first(where: { access($0, X_OK) == 0 }) else {
            throw NeverHappened(what: "nginx is there")
        }
        program = try ChildProcess(
            // Whatever happens to the test, no server outlives it by much.
            "timeout",
            ["300", path, "-e", "/dev/null", "-c", "\(folder.path)/nginx.conf"],
            in: folder.path,
            environment: environment,
            passing: listener,
            holding: folder
        )
    }

    deinit { program.signal(SIGTERM) }

    /// The URL of the body.
    package var url: String { "https://127.0.0.1:\(port)/body" }
}
