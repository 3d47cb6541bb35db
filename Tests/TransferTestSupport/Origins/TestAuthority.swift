import ChildProcess
import Foundation

/// A certificate authority of one test, made by the `openssl` command.
///
/// Its files are in a separate folder, which is removed together with the authority and its
/// servers.
package final class TestAuthority: Sendable {
    /// A certificate and its key, as files and in PEM.
    package struct Certificate: Sendable {
        /// The certificate's path.
        package let certificatePath: String
        /// The key's path.
        package let keyPath: String
        /// The certificate's bytes.
        package let certificate: [UInt8]
        /// The key's bytes.
        package let key: [UInt8]
    }

    /// A failure of the `openssl` command.
    package struct Failure: Error, CustomStringConvertible {
        /// The command and its status.
        package let description: String
    }

    /// The folder of the files; servers may put theirs here, too.
    let folder: TestFolder
    /// The authority's own certificate in PEM.
    package let certificate: [UInt8]

    /// The path of the authority's own certificate.
    package var certificatePath: String { "\(folder.path)/authority.pem" }

    /// Makes the authority's key and certificate.
    package init() async throws {
        folder = try TestFolder("authority")
        // The command's own configuration differs between systems.
        try folder.write("[req]\ndistinguished_name=dn\n[dn]\n", to: "openssl.cnf")
        try await Self.openssl(
            in: folder,
            ["req", "-x509", "-subj", "/CN=Test Authority \(UUID().uuidString)", "-days", "2"]
                + Self.newKey
                + ["-keyout", "authority.key", "-out", "authority.pem"]
                + ["-addext", "basicConstraints=critical,CA:TRUE"]
        )
        certificate = try Self.bytes("\(folder.path)/authority.pem")
    }

    /// Issues a certificate.
    ///
    /// - Parameters:
    ///   - names: subject alternative names as `openssl` writes them, such as `DNS:localhost`.
    ///   - days: the days until it expires; negative for an expired one.
    ///   - isSelfSigned: whether it is signed by itself rather than by the authority.
    ///   - isRSA: whether its key is one of RSA, which older ways of exchanging keys need.
    /// - Returns: the certificate and a new key.
    /// - Throws: ``Failure``, or an error of the file system.
    package func issue(
        names: String = "IP:127.0.0.1,DNS:localhost",
        days: Int = 2,
        isSelfSigned: Bool = false,
        isRSA: Bool = false
    ) async throws -> Certificate {
        let stem = UUID().uuidString
        let (request, key, pem) = ("\(stem).csr", "\(stem).key", "\(stem).pem")
        try await Self.openssl(
            in: folder,
            ["req", "-new", "-subj", "/CN=Test", "-keyout", key, "-out", request]
                + (isRSA ? ["-newkey", "rsa:2048", "-nodes"] : Self.newKey)
        )
        try folder.write("subjectAltName=\(names)\n", to: "\(stem).ext")
        let signer =
            isSelfSigned
            ? ["-signkey", key]
            : ["-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial"]
        try await Self.openssl(
            in: folder,
            ["x509", "-req", "-in", request, "-out", pem, "-days", String(days)] + signer
                + ["-extfile", "\(stem).ext"]
        )
        let (certificatePath, keyPath) = ("\(folder.path)/\(pem)", "\(folder.path)/\(key)")
        return Certificate(
            certificatePath: certificatePath,
            keyPath: keyPath,
            certificate: try Self.bytes(certificatePath),
            key: try Self.bytes(keyPath)
        )
    }

    /// Returns a certificate's key in PEM, locked by a passphrase.
    ///
    /// - Throws: ``Failure``, or an error of the file system.
    package func lockedKey(of certificate: Certificate) async throws -> [UInt8] {
        let locked = "\(UUID().uuidString).key"
        try await Self.openssl(
            in: folder,
            [
                "pkey", "-aes128", "-passout", "pass:secret", "-in", certificate.keyPath, "-out",
                locked,
            ]
        )
        return try Self.bytes("\(folder.path)/\(locked)")
    }

    /// Returns the environment of `openssl`, with as little of ours as possible.
    static func environment(_ folder: TestFolder) -> [String: String] {
        [
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin",
            "OPENSSL_CONF": "\(folder.path)/openssl.cnf",
        ]
    }

    private static let newKey = [
        "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
    ]

    private static func openssl(in folder: TestFolder, _ arguments: [String]) async throws {
        let program = try ChildProcess(
            "openssl",
            arguments,
            in: folder.path,
            environment: environment(folder),
            holding: folder
        )
        let status = await program.status()
        guard status == 0 else {
            throw Failure(description: "openssl \(arguments.joined(separator: " ")): \(status)")
        }
    }

    private static func bytes(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: path)))
    }
}
