import Glibc

/// Accepts connections, as far as the kernel does that alone, and never says a word.
struct BlackHole {
    let port: UInt16
    private let descriptor: Int32

    init() throws { (descriptor, port) = try Program.listener() }

    func close() { Glibc.close(descriptor) }
}
