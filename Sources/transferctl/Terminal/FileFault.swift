import Foundation

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A file of this machine that a command cannot use, and why.
struct FileFault: Error, CustomStringConvertible {
    /// What the command does with a file.
    enum Use: String {
        case read, written, made, used
    }

    /// The path, or the words for a file without one.
    let name: String
    let use: Use
    let reason: String
    /// Whether nobody reads any more what is written.
    let isOfClosedPipe: Bool

    var description: String { "\(name) cannot be \(use.rawValue): \(reason)" }

    /// Describes a call of the system that failed, by its number.
    init(_ name: String, cannotBe use: Use, number: Int32) {
        self.name = name
        self.use = use
        reason = String(cString: strerror(number))
        isOfClosedPipe = number == EPIPE
    }

    /// Describes what Foundation threw.
    init(_ name: String, cannotBe use: Use, _ error: any Error) {
        let cause = (error as? CocoaError)?.underlying as? POSIXError
        let number = cause?.code.rawValue
        self.name = name
        self.use = use
        reason = number.map { String(cString: strerror($0)) } ?? error.localizedDescription
        isOfClosedPipe = number == EPIPE
    }

    private init(_ name: String, cannotBe use: Use, reason: String) {
        self.name = name
        self.use = use
        self.reason = reason
        isOfClosedPipe = false
    }

    /// Throws unless there is a regular file that can be read.
    static func checkReading(_ path: String) throws(FileFault) {
        // Otherwise a FIFO would wait for somebody who writes to it.
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileFault(path, cannotBe: .read, number: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw FileFault(path, cannotBe: .read, number: errno)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FileFault(path, cannotBe: .read, reason: "Not a regular file")
        }
    }
}
