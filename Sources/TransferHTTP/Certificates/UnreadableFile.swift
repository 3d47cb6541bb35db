import Glibc

/// The error for a certificate or a key that this process cannot read, whatever it contains.
package struct UnreadableFile: Error, CustomStringConvertible {
    /// The path of the file.
    let path: String
    /// The `errno` of the attempt.
    let number: Int32

    package var description: String {
        "\(path): cannot be read: \(String(cString: strerror(number)))"
    }

    /// Throws unless the file can be opened.
    static func check(_ path: String) throws(UnreadableFile) {
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw UnreadableFile(path: path, number: errno) }
        close(descriptor)
    }
}
