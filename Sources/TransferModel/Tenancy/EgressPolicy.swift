import Glibc

/// The addresses that this service may connect to for a client: the public Internet, unless an
/// operator allows more.
///
/// The policy decides on the bytes of the address that is actually used, never on a name or a URL:
/// a name may resolve to another address a moment later, and a number has many spellings.
package struct EgressPolicy: Equatable, Sendable {
    /// A range of addresses in CIDR notation (RFC 4632, RFC 4291 §2.3).
    package struct Network: Equatable, Sendable {
        let prefix: [UInt8]
        package let length: Int

        /// Creates the network of `prefix`, which is 4 bytes (IPv4) or 16 (IPv6); nil for any other
        /// count or a length beyond the address.
        package init?(prefix: [UInt8], length: Int) {
            guard prefix.count == 4 || prefix.count == 16, (0...prefix.count * 8).contains(length)
            else { return nil }
            self.prefix = prefix
            self.length = length
        }

        fileprivate init(_ prefix: [UInt8], _ length: Int) {
            self.prefix =
                prefix + Array(repeating: 0, count: (prefix.count <= 4 ? 4 : 16) - prefix.count)
            self.length = length
        }

        /// Reads a network such as `10.0.0.0/8`, `fd00::/8` or `10.1.2.3`; nil for anything else.
        package init?(_ text: String) {
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count <= 2, let prefix = Self.address(String(parts[0])),
                let length = parts.count == 2 ? Int(parts[1]) : prefix.count * 8
            else { return nil }
            self.init(prefix: prefix, length: length)
        }

        fileprivate static func address(_ text: String) -> [UInt8]? {
            var bytes = [UInt8](repeating: 0, count: 16)
            if inet_pton(AF_INET, text, &bytes) == 1 { return Array(bytes.prefix(4)) }
            return inet_pton(AF_INET6, text, &bytes) == 1 ? bytes : nil
        }

        /// The network in the form in which it is read.
        package var text: String { Self.text(of: prefix) + "/\(length)" }

        fileprivate static func text(of address: [UInt8]) -> String {
            var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
            let family = address.count == 4 ? AF_INET : AF_INET6
            guard inet_ntop(family, address, &text, socklen_t(text.count)) != nil else { return "" }
            let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            return String(decoding: bytes, as: UTF8.self)
        }

        /// Whether it holds IPv4 addresses.
        package var isIPv4: Bool { prefix.count == 4 }

        func contains(_ address: [UInt8]) -> Bool {
            guard address.count == prefix.count else { return false }
            let whole = length / 8
            guard address.prefix(whole).elementsEqual(prefix.prefix(whole)) else { return false }
            guard length % 8 != 0 else { return true }
            let mask = ~(UInt8.max >> UInt8(length % 8))
            return address[whole] & mask == prefix[whole] & mask
        }
    }

    /// The ranges that may be reached although they are not public.
    package var allowed: [Network]
    /// The ranges that are never reached, whatever is allowed.
    package var denied: [Network] = []
    /// The ports that may be reached; empty for all.
    package var ports: Set<UInt16> = []
    /// The only hosts that are asked, in the form of ``deniedHosts``; empty for all.
    package var allowedHosts: [String] = []
    /// The hosts that are never asked, as ``hostName(_:)`` returns them: names in lower case, or
    /// with a dot in front for a name and all below it, or addresses.
    package var deniedHosts: [String] = []
    /// The hosts that are reached without the proxy, if there is one; in the same form.
    package var directHosts: [String] = []
    /// The prefixes besides 64:ff9b::/96 by which the network reaches IPv4 addresses (RFC 6052
    /// §2.2).
    package var translations: [Network] = []

    package init(allowed: [Network] = []) { self.allowed = allowed }

    /// Returns whether a connection may be made to a port of `address`.
    package func allows(_ address: [UInt8], port: UInt16) -> Bool {
        (ports.isEmpty || ports.contains(port)) && allows(address)
    }

    /// Returns whether a request may be sent to `host`, whatever its address.
    package func allows(host: String) -> Bool {
        (allowedHosts.isEmpty || Self.names(host, in: allowedHosts))
            && !Self.names(host, in: deniedHosts)
    }

    /// Returns whether `host` is reached without a proxy.
    package func isReachedDirectly(_ host: String) -> Bool { Self.names(host, in: directHosts) }

    /// Returns whether `hosts`, in the form of ``deniedHosts``, name the host of a URL.
    static func names(_ host: String, in hosts: [String]) -> Bool {
        guard !hosts.isEmpty else { return false }
        // The root's dot changes the text and not the host.
        let trimmed = host.hasSuffix(".") ? String(host.dropLast()) : host
        let name = Array((addressName(trimmed) ?? trimmed.lowercased()).utf8)
        return hosts.contains { text in
            let text = text.utf8
            guard text.first == UInt8(ascii: ".") else { return name.elementsEqual(text) }
            return name.suffix(text.count).elementsEqual(text)
                || name.elementsEqual(text.dropFirst())
        }
    }

    /// Returns the name of a host as rules have it; nil for what no host is called.
    ///
    /// An address has one form, however it is spelled; one of IPv6 has no brackets. Names beyond
    /// ASCII are asked for as punycode.
    package static func hostName(_ text: String) -> String? {
        if let address = addressName(text) { return address }
        let name = text.lowercased()
        guard !name.isEmpty, name != "." else { return nil }
        // A URL or a port in its place would be a rule for no host.
        let isName = name.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || "-._".utf8.contains(byte)
        }
        guard isName else { return nil }
        // What libcurl takes for a number, such as 127.1, is an address in each URL.
        var number = in_addr()
        guard inet_aton(name, &number) == 0 else {
            return Network.text(of: withUnsafeBytes(of: number.s_addr) { Array($0) })
        }
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }

    /// Returns the one form of an address, of IPv6 in brackets or not; nil for a name.
    ///
    /// A mapped address (RFC 4291 §2.5.5.2) has the form of the IPv4 address that it leads to.
    private static func addressName(_ text: String) -> String? {
        let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
        let bare = isBracketed ? String(text.dropFirst().dropLast()) : text
        guard let address = Network.address(bare), !isBracketed || address.count == 16 else {
            return nil
        }
        return Network.text(of: address.starts(with: mapped) ? Array(address.suffix(4)) : address)
    }

    /// Returns whether a connection may be made to `address`, 4 or 16 bytes in network order; any
    /// other length is refused.
    package func allows(_ address: [UInt8]) -> Bool {
        if !denied.isEmpty {
            let forms = forms(of: address)
            if denied.contains(where: { forms.contains(where: $0.contains) }) { return false }
        }
        let address = innerIPv4(of: address) ?? address
        if allowed.contains(where: { $0.contains(address) }) { return true }
        switch address.count {
        case 4: return !Self.specialIPv4.contains { $0.contains(address) }
        case 16:
            // Only global unicast is public, except the ranges within it that are set aside.
            return Network([0x20, 0, 0, 0, 0], 3).contains(address)
                && !Self.specialIPv6.contains { $0.contains(address) }
        default: return false
        }
    }

    /// Returns an address and those that it may lead to.
    package func forms(of address: [UInt8]) -> [[UInt8]] {
        let forms = [address, innerIPv4(of: address), Self.tunnelledIPv4(in: address)]
            .compactMap(\.self)
        // A connection to an unspecified address arrives at the loopback (ip(7)).
        let unspecified = forms.filter { form in form.allSatisfy { $0 == 0 } }
        return forms + unspecified.compactMap(Self.loopback)
    }

    /// Returns the address of this machine that has as many bytes as an unspecified one.
    private static func loopback(besides address: [UInt8]) -> [UInt8]? {
        switch address.count {
        case 4: [127, 0, 0, 1]
        case 16: Array(repeating: 0, count: 15) + [1]
        default: nil
        }
    }

    /// Returns the IPv4 address that a mapped or NAT64 address leads to (RFC 4291 §2.5.5.2, RFC
    /// 6052).
    package func innerIPv4(of address: [UInt8]) -> [UInt8]? {
        guard address.count == 16 else { return nil }
        if address.starts(with: Self.mapped) || address.starts(with: Self.translated) {
            return Array(address.suffix(4))
        }
        guard let prefix = translations.first(where: { $0.contains(address) }) else { return nil }
        // The bits 64 to 71 are left out (RFC 6052 §2.2).
        let bytes = address.enumerated().filter { $0.offset != 8 || prefix.length == 96 }
        return Array(bytes.filter { $0.offset >= prefix.length / 8 }.map(\.element).prefix(4))
    }

    /// The lengths that the prefix of a NAT64 may have (RFC 6052 §2.2).
    package static let translationLengths = [32, 40, 48, 56, 64, 96]

    private static let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
    private static let translated: [UInt8] = [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]

    /// Returns the IPv4 address that a 6to4, Teredo or IPv4-compatible address leads to, where
    /// somebody offers that (RFC 3056 §2, RFC 4380 §4, RFC 4291 §2.5.5.1).
    package static func tunnelledIPv4(in address: [UInt8]) -> [UInt8]? {
        guard address.count == 16 else { return nil }
        if address.starts(with: [0x20, 0x02]) { return Array(address[2..<6]) }
        if address.starts(with: [0x20, 0x01, 0, 0]) { return address.suffix(4).map { ~$0 } }
        return address.prefix(12).allSatisfy { $0 == 0 } ? Array(address.suffix(4)) : nil
    }

    /// IANA's IPv4 special-purpose registry (RFC 6890 and its updates), multicast, reserved, and
    /// the one address of a cloud's own services that is public (168.63.129.16, Azure).
    private static let specialIPv4: [Network] = [
        Network([0], 8), Network([10], 8), Network([100, 64], 10), Network([127], 8),
        Network([168, 63, 129, 16], 32), Network([169, 254], 16), Network([172, 16], 12),
        Network([192, 0, 0], 24),
        Network([192, 0, 2], 24), Network([192, 31, 196], 24), Network([192, 52, 193], 24),
        Network([192, 88, 99], 24), Network([192, 168], 16), Network([192, 175, 48], 24),
        Network([198, 18], 15), Network([198, 51, 100], 24), Network([203, 0, 113], 24),
        Network([224], 4), Network([240], 4),
    ]

    /// The ranges of 2000::/3 that IANA sets aside: protocol assignments with Teredo and ORCHID,
    /// documentation, 6to4, direct delegation to AS112, documentation (RFC 9637).
    private static let specialIPv6: [Network] = [
        Network([0x20, 0x01, 0, 0, 0], 23), Network([0x20, 0x01, 0x0D, 0xB8, 0], 32),
        Network([0x20, 0x02, 0, 0, 0], 16), Network([0x26, 0x20, 0, 0x4F, 0x80], 48),
        Network([0x3F, 0xFF, 0, 0, 0], 20),
    ]
}
