import Crypto
import Foundation

/// The queue of one host and port, by which connection caps are counted.
package struct HostKey: Hashable, Sendable {
    /// The stored key: 64 bits of a hash, so that a host needs no row.
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// Creates the key of a host and port such as `files.example:443`.
    ///
    /// - Returns: nil for what no task's URL has, such as a URL, a name with a star or port 0: its
    ///   key would be that of nothing.
    package init?(hostAndPort: String) {
        // By bytes: to compare characters takes long for a text of many marks.
        let bytes = hostAndPort.utf8
        guard let colon = bytes.lastIndex(of: UInt8(ascii: ":")) else { return nil }
        let (host, digits) = (bytes[..<colon], bytes[bytes.index(after: colon)...])
        guard Self.isHost(host), digits.count <= 5, digits.allSatisfy(Self.isDigit),
            let port = UInt16(Substring(digits)), port > 0
        else { return nil }
        self.init(host: String(Substring(host)), port: Int(port))
    }

    /// What ``init(hostAndPort:)`` takes, in words for people.
    package static let rule =
        "Must be a host with its port, as `files.example:443`, without `https://` and path."

    /// Returns whether a URL may have the host: a name or an IPv4 address, or an IPv6 address, in
    /// brackets or not.
    private static func isHost(_ host: Substring.UTF8View) -> Bool {
        guard !host.contains(UInt8(ascii: ":")) else {
            let isBracketed = host.first == UInt8(ascii: "[") && host.last == UInt8(ascii: "]")
            let bare = Array(isBracketed ? host.dropFirst().dropLast() : host)
            // C's functions read no further than to a zero.
            return !bare.contains(0) && address(bare[...]) != nil
        }
        return !host.isEmpty
            && host.allSatisfy { byte in
                isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                    || "-._".utf8.contains(byte)
            }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// Creates the key of `host` and `port`; all spellings of a host share one.
    package init(host: String, port: Int) {
        // SHA-256, stable between processes and versions: nobody may produce a collision on
        // purpose, or one tenant could throttle the hosts of others.
        let digest = SHA256.hash(data: Self.canonical(host) + ":\(port)".utf8)
        rawValue = digest.prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }

    /// Returns whether a host is written in the one form that its key stands for.
    ///
    /// Other spellings share the key, but may lead elsewhere: a resolver adds search domains to a
    /// name without a final dot alone, an address with a dot is a name to it, and an IPv4 address
    /// written as an IPv6 one is reached only where there is IPv6.
    package static func isCanonical(_ host: String) -> Bool { canonical(host) == bare(host) }

    /// Returns the host in lower case, without brackets.
    private static func bare(_ host: String) -> [UInt8] {
        let name = Array(host.lowercased().utf8)
        guard name.first == UInt8(ascii: "["), name.last == UInt8(ascii: "]") else { return name }
        return Array(name.dropFirst().dropLast())
    }

    /// Returns the host in lower case, without brackets and the final dot of an absolute name, and
    /// an address in its one canonical form.
    private static func canonical(_ host: String) -> [UInt8] {
        var name = bare(host)[...]
        if name.last == UInt8(ascii: ".") { name = name.dropLast() }
        return address(name).map { Array($0.utf8) } ?? Array(name)
    }

    /// Returns the canonical form of an IPv6 address, or of an IPv4 address in any form that
    /// `inet_aton` accepts, such as `127.1` or `0x7f000001`; nil for a name.
    private static func address(_ name: ArraySlice<UInt8>) -> String? {
        guard name.contains(UInt8(ascii: ":")) else {
            // All of these forms begin with a digit.
            guard let first = name.first, (0x30...0x39).contains(first) else { return nil }
            var address = in_addr()
            let text = String(decoding: name, as: UTF8.self)
            return inet_aton(text, &address) == 1 ? Self.text(of: address) : nil
        }
        let text = String(decoding: name, as: UTF8.self)
        var address = in6_addr()
        guard inet_pton(AF_INET6, text, &address) == 1 else { return nil }
        let bytes = withUnsafeBytes(of: &address) { Array($0) }
        // An IPv4 address written as an IPv6 one (RFC 4291 §2.5.5.2) is the same host.
        guard bytes.prefix(10).allSatisfy({ $0 == 0 }), bytes[10...11].allSatisfy({ $0 == 0xFF })
        else {
            var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
            guard inet_ntop(AF_INET6, &address, &buffer, socklen_t(buffer.count)) != nil else {
                return nil
            }
            return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
        }
        return bytes[12...].map(String.init).joined(separator: ".")
    }

    private static func text(of address: in_addr) -> String {
        var address = address
        return withUnsafeBytes(of: &address.s_addr) { $0.map(String.init).joined(separator: ".") }
    }
}
