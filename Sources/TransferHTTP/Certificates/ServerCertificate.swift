import Glibc
import NIOCore
import NIOSSL
import Synchronization

/// The certificate and the private key with which the API speaks TLS.
///
/// New connections use what was read last; open ones keep what they began with.
package final class ServerCertificate: Sendable {
    /// When and how large a file was and who may read it, by which a change of it is seen.
    ///
    /// It was changed last when its content, owner or mode were (inode(7)).
    private struct Stamp: Equatable {
        let inode: UInt
        let size: Int
        let written: [Int]
        let changed: [Int]
        let mode: UInt32
        let user: UInt32
        let group: UInt32

        /// Looks at a file, through links: those of an orchestrator change instead of the file.
        init?(_ path: String) {
            var file = stat()
            guard stat(path, &file) == 0 else { return nil }
            inode = UInt(file.st_ino)
            size = Int(file.st_size)
            written = [file.st_mtim.tv_sec, file.st_mtim.tv_nsec]
            changed = [file.st_ctim.tv_sec, file.st_ctim.tv_nsec]
            mode = file.st_mode
            user = file.st_uid
            group = file.st_gid
        }
    }

    private struct State {
        var context: NIOSSLContext
        /// The files as they were when they were last read.
        var stamps: [Stamp?]
    }

    private let certificateFile: String
    private let keyFile: String
    private let checkKey: @Sendable () throws -> Void
    private let state: Mutex<State>

    /// Reads the certificate, with those of the authorities between, and its key, both in PEM.
    ///
    /// `checkKey` throws if the file of the key must not be used as it is, and is called each time
    /// before that is read.
    ///
    /// - Throws: an error that says what is wrong with the files, never what is in them.
    package init(
        certificateFile: String,
        keyFile: String,
        checkKey: @escaping @Sendable () throws -> Void
    ) throws {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        self.checkKey = checkKey
        let stamps = [Stamp(certificateFile), Stamp(keyFile)]
        try checkKey()
        let context = try Self.context(certificateFile, keyFile)
        state = Mutex(State(context: context, stamps: stamps))
    }

    /// The handler that encrypts a new connection.
    func handler() -> NIOSSLServerHandler {
        NIOSSLServerHandler(context: state.withLock { $0.context })
    }

    /// Reads the files again, if they have changed since they were last read or `always`.
    ///
    /// - Returns: whether they were read.
    /// - Throws: what is wrong with them; the last good certificate stays in use, and the next call
    ///   tries again, for what was wrong may not be seen in the files.
    package func reload(always: Bool = false) throws -> Bool {
        let stamps = [Stamp(certificateFile), Stamp(keyFile)]
        guard always || state.withLock({ $0.stamps != stamps }) else { return false }
        try checkKey()
        let context = try Self.context(certificateFile, keyFile)
        state.withLock { $0 = State(context: context, stamps: stamps) }
        return true
    }

    private static func context(
        _ certificateFile: String,
        _ keyFile: String
    ) throws -> NIOSSLContext {
        // Of such a file, the library says that it is not a certificate.
        for file in [certificateFile, keyFile] { try UnreadableFile.check(file) }
        let chain = try NIOSSLCertificate.fromPEMFile(certificateFile)
        let key = try NIOSSLPrivateKey(file: keyFile, format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        return try NIOSSLContext(configuration: configuration)
    }
}
