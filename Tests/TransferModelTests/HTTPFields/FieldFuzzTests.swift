import Foundation
import Testing
import TransferTestSupport

@testable import TransferModel

/// Fields of hostile origins, a few bytes away from good ones.
@Suite struct FieldFuzzTests {
    @Test func aWaitIsNeverNegativeNorLongerThanACentury() {
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        let samples = [
            "120", "0", "Fri, 31 Dec 2038 23:59:59 GMT", "Friday, 31-Dec-38 23:59:59 GMT",
            "Fri Dec 31 23:59:59 2038",
        ]
        var taken = 0
        for text in MutatedTexts(of: samples, with: ["Feb", "29", "60", "GMT", ","]).strings {
            guard let wait = RetryAfter.wait(text, date: nil, now: now) else { continue }
            taken += 1
            #expect(
                (.zero ... .seconds(100 * 366 * 86_400)).contains(wait),
                "\(text.debugDescription)"
            )
        }
        #expect(taken > 100)
    }

    @Test func aContentRangeIsWithinItsTotal() {
        var taken = 0
        for text in MutatedTexts(
            of: ["bytes 0-99/100", "bytes 5-9/*"],
            with: ["bytes ", "/", "*"]
        )
        .strings {
            guard let range = ContentRange(text) else { continue }
            taken += 1
            #expect(range.range.lowerBound >= 0 && !range.range.isEmpty)
            if let total = range.total { #expect(range.range.upperBound <= total) }
            let total = range.total.map { "\($0)" } ?? "*"
            let again = "bytes \(range.range.lowerBound)-\(range.range.upperBound - 1)/\(total)"
            #expect(ContentRange(again) == range, "\(text.debugDescription)")
        }
        #expect(taken > 100)
    }

    @Test func aSuggestedNameIsOneComponent() {
        let samples = [
            #"attachment; filename="report.pdf""#,
            "attachment; filename*=UTF-8''r%C3%A9sum%C3%A9.pdf",
            "inline; filename=a.txt; filename*=iso-8859-1'en'%A3",
        ]
        let pieces = ["../", "%2F", "%5C", "..", "CON", "filename*=", ";", "%E2%80%AE", "/etc"]
        var taken = 0
        for text in MutatedTexts(of: samples, with: pieces).strings {
            guard
                let name = SuggestedFileName.of(
                    contentDisposition: text,
                    url: "https://a.example/x/y.bin"
                )
            else { continue }
            taken += 1
            let bytes = Array(name.utf8)
            #expect(
                (1...SuggestedFileName.bytesMax).contains(bytes.count),
                "\(text.debugDescription)"
            )
            #expect(!bytes.contains { $0 == 0x2F || $0 == 0x5C || $0 < 0x20 || $0 == 0x7F })
            #expect(bytes.first != 0x2E, "\(text.debugDescription)")
            #expect(Destination(path: name, overwrite: false) != nil, "\(text.debugDescription)")
        }
        #expect(taken > 100)
    }

    @Test func aDigestHasTheLengthOfItsAlgorithm() {
        let samples = [
            "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:",
            "sha-512=:z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==:",
        ]
        var taken = 0
        for text in MutatedTexts(of: samples, with: ["sha-256=:", ":", ",", ";q=1", "md5=:"])
            .strings
        {
            let sums = DigestFields.checksums(status: 200, headers: [("Repr-Digest", text)])
            taken += sums.count
            #expect(Set(sums.map(\.algorithm)).count <= 1, "\(text.debugDescription)")
        }
        #expect(taken > 100)
    }

    @Test func otherFieldsAndNamesNeverTrap() {
        let types = ["text/plain; charset=utf-8", #"text/html; charset="iso-8859-1"; q=1"#]
        for text in MutatedTexts(of: types, with: ["charset=", ";", "\"", "/"]).strings {
            _ = ContentType(text)
            _ = EntityValidator(etag: text, lastModified: text, date: text)
            _ = HostKey(hostAndPort: text)
        }
    }

    @Test func aSetOfRangesIsReadAsItIsWritten() {
        var taken = 0
        for text in MutatedTexts(of: ["{[0,10),[20,30)}", "{}"], with: ["[", ")", ",", "{", "}"])
            .strings
        {
            guard let set = ByteRangeSet(text: text) else { continue }
            taken += 1
            #expect(ByteRangeSet(text: set.text) == set, "\(text.debugDescription)")
        }
        #expect(taken > 100)
    }

    @Test func aDestinationStaysBeneathTheContainer() {
        var taken = 0
        for text in MutatedTexts(of: ["a/b/c.txt", "photos/1.jpg"], with: ["../", "/", ".", "./"])
            .strings
        {
            guard let destination = Destination(path: text, overwrite: true) else { continue }
            taken += 1
            let root = "/container/files"
            let path = URL(fileURLWithPath: "\(root)/\(destination.path)").standardizedFileURL.path
            // Compared as bytes: a combining mark would hide a slash.
            #expect(path.utf8.starts(with: "\(root)/".utf8), "\(text.debugDescription)")
            #expect(!destination.path.utf8.contains(0), "\(text.debugDescription)")
        }
        #expect(taken > 100)
    }

    @Test func theNextTimeOfAScheduleIsLater() throws {
        let zone = try #require(TimeZone(identifier: "Europe/Berlin"))
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        var taken = 0
        let samples = ["*/5 * * * *", "0 9-17 * jan-jun mon-fri", "30 2 29 2 *", "@daily"]
        for text in MutatedTexts(of: samples, with: ["*", "/", ",", "sun", "@", "31", "?"]).strings
        {
            guard let expression = try? CronExpression(text) else { continue }
            taken += 1
            if let next = expression.next(after: now, in: zone) {
                #expect(next > now, "\(text.debugDescription)")
            }
        }
        #expect(taken > 100)
    }

    @Test func hoursOfAWeekNeverTrap() {
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        var taken = 0
        let samples = ["mon-fri 22:00-06:00", "sat-sun", "00:00-24:00,wed"]
        for text in MutatedTexts(of: samples, with: ["mon", "-", ":", ",", "24:00"]).strings {
            guard let hours = WeeklyHours(text) else { continue }
            taken += 1
            _ = hours.contains(now)
        }
        #expect(taken > 100)
    }

    /// An address of IPv6 is reached only if each address of IPv4 within it would be.
    @Test func noAddressHidesAnother() {
        var generator = SeededGenerator(state: 1)
        let heads: [[UInt8]] = [
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF],
            [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0],
            [0x20, 0x02], [0x20, 0x01, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [0x20], [0x26],
        ]
        for _ in 0..<20_000 {
            var address = heads.randomElement(using: &generator) ?? []
            while address.count < 16 { address.append(generator.next()) }
            let policy = EgressPolicy()
            guard policy.allows(address) else { continue }
            if let inner = policy.innerIPv4(of: address) { #expect(policy.allows(inner)) }
            #expect(EgressPolicy.tunnelledIPv4(in: address) == nil, "\(address)")
        }
    }
}
