import Foundation
import Glibc
import Testing
import TransferTestSupport

/// The API with a certificate of its own, as curl and openssl see it.
@Suite(.timeLimit(.minutes(5))) struct TLSTests {
    /// A service with a certificate for localhost.
    private struct Stage {
        let authority: TestAuthority
        let directory: DataDirectory
        let service: ServiceProcess
        let certificateFile: String
        let keyFile: String
        let log: String

        init(_ options: [String] = []) async throws {
            authority = try await TestAuthority()
            directory = try DataDirectory()
            certificateFile = "\(directory.path).certificate"
            keyFile = "\(directory.path).key"
            log = "\(directory.path).log"
            try await Self.install(try await authority.issue(), certificateFile, keyFile)
            service = try await ServiceProcess(
                in: directory,
                ["--tls-certificate-file", certificateFile, "--tls-key-file", keyFile] + options,
                log: log
            )
        }

        static func install(
            _ certificate: TestAuthority.Certificate,
            _ certificateFile: String,
            _ keyFile: String,
            keyMode: mode_t = 0o600
        ) async throws {
            for (bytes, path, mode) in [
                (certificate.certificate, certificateFile, 0o600),
                (certificate.key, keyFile, keyMode),
            ] {
                let new = "\(path).new"
                try Data(bytes).write(to: URL(fileURLWithPath: new))
                try #require(chmod(new, mode) == 0)
                try #require(rename(new, path) == 0)
            }
        }

        func renew(keyMode: mode_t = 0o600) async throws {
            try await Self.install(
                try await authority.issue(),
                certificateFile,
                keyFile,
                keyMode: keyMode
            )
        }

        func curl(_ scheme: String, _ path: String, _ options: [String] = []) async throws -> (
            status: Int32, output: String
        ) {
            try await CommandLine.run(
                "/usr/bin/curl",
                [
                    "--silent", "--max-time", "60", "--cacert", authority.certificatePath,
                    "--write-out", " %{http_code} %{http_version}",
                ] + options + ["\(scheme)://localhost:\(service.announcement.port)\(path)"]
            )
        }

        /// Returns the serial number of the certificate that a new connection is shown.
        func serial() async throws -> String {
            let port = service.announcement.port
            let script = """
                openssl s_client -connect 127.0.0.1:\(port) </dev/null | openssl x509 -noout -serial
                """
            return try await CommandLine.run("/bin/sh", ["-c", script]).output
        }
    }

    @Test func theAPISpeaksTLSAndNothingElse() async throws {
        let stage = try await Stage()
        let ready = try await stage.curl("https", "/readyz")
        #expect(ready.status == 0 && ready.output.hasSuffix(" 200 1.1"))
        let key = try stage.directory.apiKey()
        let fields = ["--header", "Authorization: Bearer \(key)"]
        let made = try await stage.curl(
            "https",
            "/v1/sessions/s",
            fields + ["--request", "PUT", "--json", "{}"]
        )
        #expect(made.output.hasSuffix(" 201 1.1"), "\(made)")
        // A body of many records, and an answer of many.
        let tasks = (0..<1000).map { #"{"url": "http://127.0.0.1:1/\#($0)", "autostart": false}"# }
        let body = "\(stage.directory.path).json"
        try "[\(tasks.joined(separator: ","))]".write(
            toFile: body,
            atomically: true,
            encoding: .utf8
        )
        let submitted = try await stage.curl(
            "https",
            "/v1/sessions/s/tasks",
            fields + ["--json", "@\(body)"]
        )
        #expect(submitted.output.hasSuffix(" 201 1.1") || submitted.output.hasSuffix(" 202 1.1"))
        let plain = try await stage.curl("http", "/readyz")
        #expect(plain.status != 0 && plain.output.hasSuffix(" 000 0"))
        // TLS 1.1 is no longer spoken (RFC 8996).
        let old = try await stage.curl("https", "/readyz", ["--tls-max", "1.1"])
        #expect(old.status != 0)
        #expect(await stage.service.terminate() == 0)
    }

    @Test func aCertificateThatWasRenewedIsShownAndNoConnectionBreaks() async throws {
        let stage = try await Stage()
        let first = try await stage.serial()
        #expect(first.hasPrefix("serial="))
        let key = try stage.directory.apiKey()
        let fields = ["--header", "Authorization: Bearer \(key)"]
        _ = try await stage.curl(
            "https",
            "/v1/sessions/s",
            fields + ["--request", "PUT", "--json", "{}"]
        )
        // A request that waits on its connection while the certificate is replaced.
        async let waiting = stage.curl(
            "https",
            "/v1/sessions/s/events",
            fields + ["--header", "Prefer: wait=15"]
        )
        try await eventually("the request waits") {
            let metrics = try await stage.curl("https", "/metrics")
            return metrics.output.contains("transferd_")
        }
        try await stage.renew()
        try await eventually("the new certificate is shown") { try await stage.serial() != first }
        let second = try await stage.serial()
        try await stage.renew()
        kill(stage.service.pid, SIGHUP)
        try await eventually("the third certificate is shown") {
            try await stage.serial() != second
        }
        #expect(try await waiting.output.hasSuffix(" 200 1.1"))
        #expect(await stage.service.terminate() == 0)
    }

    @Test func aBrokenRenewalLeavesTheLastGoodCertificate() async throws {
        let stage = try await Stage()
        let first = try await stage.serial()
        try "nonsense".write(toFile: stage.certificateFile, atomically: true, encoding: .utf8)
        kill(stage.service.pid, SIGHUP)
        try await eventually("the failure is logged") {
            try String(contentsOfFile: stage.log, encoding: .utf8)
                .contains("certificate not read")
        }
        #expect(try await stage.serial() == first)
        // A certificate without its key is as useless.
        let other = try await stage.authority.issue()
        try Data(other.certificate).write(to: URL(fileURLWithPath: stage.certificateFile))
        kill(stage.service.pid, SIGHUP)
        try await eventually("the second failure is logged") {
            try String(contentsOfFile: stage.log, encoding: .utf8)
                .components(separatedBy: "certificate not read").count > 2
        }
        #expect(try await stage.serial() == first)
        #expect(await stage.service.terminate() == 0)
    }

    @Test func aKeyThatOthersCanReadIsNotReadAgain() async throws {
        let stage = try await Stage()
        let first = try await stage.serial()
        let files = FileManager.default
        // The mode alone is a change.
        try files.setAttributes([.posixPermissions: 0o644], ofItemAtPath: stage.keyFile)
        try await eventually("the failure is logged") {
            try String(contentsOfFile: stage.log, encoding: .utf8).contains("has the mode 644")
        }
        try await stage.renew(keyMode: 0o644)
        kill(stage.service.pid, SIGHUP)
        try await eventually("the second failure is logged") {
            try String(contentsOfFile: stage.log, encoding: .utf8)
                .components(separatedBy: "has the mode 644").count > 2
        }
        #expect(try await stage.serial() == first)
        try files.setAttributes([.posixPermissions: 0o400], ofItemAtPath: stage.keyFile)
        try await eventually("the new certificate is shown") { try await stage.serial() != first }
        #expect(await stage.service.terminate() == 0)
    }

    @Test func anAddressThatOthersReachTakesTLS() async throws {
        let stage = try await Stage(["--host", "0.0.0.0"])
        #expect(try await stage.curl("https", "/readyz").output.hasSuffix(" 200 1.1"))
        #expect(await stage.service.terminate() == 0)
    }

    @Test func aCertificateThatCannotBeReadIsSaid() async throws {
        let authority = try await TestAuthority()
        let certificate = try await authority.issue()
        let directory = try DataDirectory()
        let refusal = await #expect(throws: ServiceProcess.NotStarted.self) {
            try await ServiceProcess(
                in: directory,
                [
                    "--tls-certificate-file", "\(directory.path)/missing",
                    "--tls-key-file", certificate.keyPath,
                ]
            )
        }
        let text = "\(directory.path)/missing: cannot be read: No such file or directory"
        #expect(refusal?.description.contains(text) == true, "\(String(describing: refusal))")
    }

    @Test func aKeyThatOthersCanReadIsRefused() async throws {
        let authority = try await TestAuthority()
        let certificate = try await authority.issue()
        let directory = try DataDirectory()
        try #require(chmod(certificate.keyPath, 0o644) == 0)
        let refusal = await #expect(throws: ServiceProcess.NotStarted.self) {
            try await ServiceProcess(
                in: directory,
                [
                    "--tls-certificate-file", certificate.certificatePath,
                    "--tls-key-file", certificate.keyPath,
                ]
            )
        }
        #expect(refusal?.description.contains("has the mode 644") == true)
    }
}
