import Foundation
import TransferTestSupport

/// An address inside, and the spellings by which somebody may try to reach it.
struct InwardAddress {
    let bytes: [UInt8]

    /// Addresses of this machine, of private networks and of clouds' metadata.
    static let all: [InwardAddress] = [
        [127, 0, 0, 1], [127, 1, 2, 3], [127, 255, 255, 254], [0, 0, 0, 0], [10, 0, 0, 1],
        [169, 254, 169, 254], [192, 168, 1, 1], [172, 16, 0, 1], [100, 100, 100, 200],
        [168, 63, 129, 16], [192, 0, 0, 192], [224, 0, 0, 1], [255, 255, 255, 255],
    ].map(InwardAddress.init)

    private static let digits = Array("0123456789")
    /// The digits of other scripts that IDNA maps to those of ASCII.
    private static let otherDigits = [
        Array("０１２３４５６７８９"), Array("⓪①②③④⑤⑥⑦⑧⑨"), Array("𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗"),
        Array("⁰¹²³⁴⁵⁶⁷⁸⁹"), Array("₀₁₂₃₄₅₆₇₈₉"),
    ]

    /// Hosts that mean the address to some parser.
    var hosts: [String] {
        numbers + otherScripts + escapes + literals
    }

    /// One to four numbers, each in decimal, octal or hexadecimal form (inet_aton(3)).
    private var numbers: [String] {
        var hosts: [String] = []
        for count in 1...4 {
            let heads = bytes.prefix(count - 1).map(UInt32.init)
            let tail = bytes.dropFirst(count - 1).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let parts = heads + [tail]
            for form in 0..<Self.power(4, count) {
                let texts = parts.enumerated().map { index, number in
                    switch form / Self.power(4, index) % 4 {
                    case 0: "\(number)"
                    case 1: "0\(String(number, radix: 8))"
                    case 2: "0x\(String(number, radix: 16))"
                    default: "0X000\(String(number, radix: 16, uppercase: true))"
                    }
                }
                hosts.append(texts.joined(separator: "."))
            }
        }
        return hosts + hosts.prefix(20).map { "\($0)." } + hosts.prefix(4).map { "\($0).." }
    }

    private var dotted: String { bytes.map { "\($0)" }.joined(separator: ".") }

    private var otherScripts: [String] {
        Self.otherDigits.flatMap { digits in
            let text = dotted.map { character in
                Self.digits.firstIndex(of: character).map { digits[$0] } ?? character
            }
            let host = String(text)
            return [host] + ["。", "．", "｡"].map { host.replacingOccurrences(of: ".", with: $0) }
        }
    }

    private var escapes: [String] {
        let escaped = dotted.utf8.map { "%\(String($0, radix: 16))" }.joined()
        return [
            escaped, dotted.replacingOccurrences(of: ".", with: "%2e"), "user@\(dotted)",
            "user:word@\(dotted)", "public.example@\(dotted)", "\(dotted)%00.public.example",
            "\(dotted)#@public.example", "\(dotted)\\\\@public.example", "\(dotted)%23.example",
        ]
    }

    /// Literals of IPv6 that hold the address.
    private var literals: [String] {
        let hex = bytes.map { String(format: "%02x", $0) }
        let (high, low) = (hex[0] + hex[1], hex[2] + hex[3])
        let inverted = bytes.map { String(format: "%02x", ~$0) }
        let forms = [
            "::ffff:\(dotted)", "::ffff:\(high):\(low)", "0:0:0:0:0:ffff:\(high):\(low)",
            "::\(dotted)", "::\(high):\(low)", "64:ff9b::\(dotted)", "64:ff9b::\(high):\(low)",
            "64:ff9b:1::\(dotted)", "2002:\(high):\(low)::", "2002:\(high):\(low)::1",
            "2001:0:1:2:0:0:\(inverted[0] + inverted[1]):\(inverted[2] + inverted[3])",
            "::ffff:0:\(dotted)", "fe80::\(high):\(low)", "fd00::\(high):\(low)",
            "::1", "::", "0:0:0:0:0:0:0:1", "fe80::1%25lo", "fec0::1", "fd00:ec2::254",
        ]
        return forms.flatMap { ["[\($0)]", "[\($0.uppercased())]"] }
    }

    private static func power(_ base: Int, _ exponent: Int) -> Int {
        (0..<exponent).reduce(1) { power, _ in power * base }
    }
}
