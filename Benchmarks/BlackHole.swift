import Glibc

/// A socket that accepts connections, as far as the kernel does so by itself, and never answers.
struct BlackHole {
    let port: UInt16
    private let descriptor: Int32

    init() throws { (descriptor, port) = try Program.listener() }

    func close() { Glibc.close(descriptor) }
}
