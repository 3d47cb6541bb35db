import Glibc
import NIOCore
import NIOSSL
import Synchronization

/// The certificate and the private key with which the API speaks TLS.
///
/// New connections use what was read last; open ones keep what they began with.
package final class ServerCertificate: Sendable {
    /// When and how large a file was and who may read it, by which a change of it is seen.
    private struct Stamp: Equatable {
        let inode: UInt
        let size: Int
        let seconds: Int
        let nanoseconds: Int
        let mode: UInt32

        /// Looks at a file, through links: those of an orchestrator change instead of the file.
        init?(_ path: String) {
            var file = stat()
            guard stat(path, &file) == 0 else { return nil }
            inode = UInt(file.st_ino)
            size = Int(file.st_size)
            seconds = file.st_mtim.tv_sec
            nanoseconds = file.st_mtim.tv_nsec
            mode = file.st_mode
        }
    }

    private struct State {
        var context: NIOSSLContext
        /// The files as they were at the last try to read them.
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

    /// Reads the files again, if they have changed since the last try or `always`.
    ///
    /// - Returns: whether they were read.
    /// - Throws: what is wrong with them; the last good certificate stays in use.
    package func reload(always: Bool = false) throws -> Bool {
        let stamps = [Stamp(certificateFile), Stamp(keyFile)]
        let isChanged = state.withLock { state in
            defer { state.stamps = stamps }
            return state.stamps != stamps
        }
        guard isChanged || always else { return false }
        try checkKey()
        let context = try Self.context(certificateFile, keyFile)
        state.withLock { $0.context = context }
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
