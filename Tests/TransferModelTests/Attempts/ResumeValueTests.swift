import Foundation
import Testing
import TransferModel

@Suite struct EntityValidatorTests {
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    @Test(arguments: [
        (#""""#, true), (#""a""#, true), (#""é""#, false), (#"W/"a""#, false), ("a", false),
        (#""a"#, false), (#"a""#, false), (#"""#, false), (#""a"b""#, false), ("\"a b\"", false),
        ("\"a\u{7F}\"", false), ("\"a\u{1}\"", false), ("", false),
        ("\"" + String(repeating: "x", count: 253) + "\"", true),
        ("\"" + String(repeating: "x", count: 254) + "\"", false),
    ])
    func takesStrongTagsOnly(etag: String, isStrong: Bool) {
        let validator = EntityValidator(etag: etag, lastModified: Self.date, date: nil)
        #expect(validator?.value == (isStrong ? etag : nil))
    }

    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:50:37 GMT", true), ("Sun, 06 Nov 1994 08:50:36 GMT", false),
        ("Sun, 06 Nov 1994 08:49:37 GMT", false), ("yesterday", false), (nil, false),
    ])
    func aDateMustBeOldEnough(date: String?, isStrong: Bool) {
        let validator = EntityValidator(etag: nil, lastModified: Self.date, date: date)
        #expect(validator?.value == (isStrong ? Self.date : nil))
    }

    @Test func aWeakTagIsNotMadeUpForByADate() {
        let validator = EntityValidator(
            etag: #"W/"a""#,
            lastModified: Self.date,
            date: "Mon, 07 Nov 1994 08:49:37 GMT"
        )
        #expect(validator == nil)
    }

    @Test func agreesWithTheSameBytesOnly() {
        let tag = EntityValidator(stored: #""a""#)
        #expect(tag.agrees(etag: #""a""#, lastModified: nil))
        #expect(tag.agrees(etag: nil, lastModified: nil))
        #expect(!tag.agrees(etag: #""b""#, lastModified: nil))
        #expect(!tag.agrees(etag: #"W/"a""#, lastModified: nil))
        // Equal to Swift, but not to an origin.
        #expect(
            !EntityValidator(stored: "\"\u{E9}\"").agrees(etag: "\"e\u{301}\"", lastModified: nil)
        )
        let date = EntityValidator(stored: Self.date)
        #expect(date.agrees(etag: #""a""#, lastModified: Self.date))
        #expect(!date.agrees(etag: nil, lastModified: "Sun, 06 Nov 1994 08:49:38 GMT"))
    }
}

@Suite struct ContentRangeTests {
    @Test(
        arguments: [
            ("bytes 0-0/1", 0..<1, 1), ("bytes 5-9/10", 5..<10, 10), ("bytes 5-9/*", 5..<10, nil),
            (
                "bytes 0-9223372036854775805/9223372036854775807", 0..<9_223_372_036_854_775_806,
                .max
            ),
        ] as [(String, Range<Int64>, Int64?)]
    )
    func readsARange(field: String, range: Range<Int64>, total: Int64?) throws {
        let read = try #require(ContentRange(field))
        #expect(read.range == range)
        #expect(read.total == total)
    }

    @Test(arguments: [
        "", "bytes", "bytes ", "bytes */10", "bytes 5-4/10", "bytes 5-10/10", "bytes 5-/10",
        "bytes -5/10", "bytes 5-9", "bytes 5-9/", "bytes 5-9/10/11", "bytes 5-9/-1",
        "bytes +5-9/10",
        "bytes 5 - 9/10", "bytes  5-9/10", "bytes 0x5-9/10", "octets 5-9/10", "Bytes 5-9/10",
        "bytes 5-9223372036854775807/*", "bytes 5-99999999999999999999/*", "bytes 5-9/10, 11-12/20",
        "bytes 5-9/1\u{660}",
    ])
    func refusesWhatIsNoRange(field: String) {
        #expect(ContentRange(field) == nil)
    }
}

@Suite struct PartialDownloadTests {
    private static let boot = UUID()

    @Test(
        arguments: [
            // In the same boot the size of the file counts; never all of it, and nothing of one
            // that is too long.
            (500, true, 500), (0, true, 0), (999, true, 999), (1000, true, 999), (1001, true, 0),
            // In another boot only the durable bytes count, if the file has them.
            (500, false, 300), (200, false, 200), (1000, false, 300), (1001, false, 0),
        ] as [(Int64, Bool, Int64)]
    )
    func countsWhatCanBeReliedOn(size: Int64, isSameBoot: Bool, usable: Int64) {
        let partial = PartialDownload(
            partFence: Fence(rawValue: 1),
            bootID: Self.boot,
            bytesDurable: 300,
            bytesTotal: 1000,
            validator: EntityValidator(stored: "\"1\"")
        )
        let boot = isSameBoot ? Self.boot : UUID()
        let bytes = partial.rangesUsable(size: size, isSegmented: false, bootID: boot)
        #expect(bytes == ByteRangeSet(0..<usable))
    }

    /// The mark of the file counts, although nothing has been stored about its segments yet.
    @Test(arguments: [(true, 300), (false, 300)] as [(Bool, Int64)])
    func theSizeOfASegmentedFileTellsNothing(isSameBoot: Bool, usable: Int64) {
        let bytes = Self.partial(ranges: nil, durable: 300).rangesUsable(
            size: 900,
            isSegmented: true,
            bootID: isSameBoot ? Self.boot : UUID()
        )
        #expect(bytes == ByteRangeSet(0..<usable))
    }

    @Test(
        arguments: [
            // In the same boot everything written is there, if the file is as long as recorded.
            (900, true, 0, true), (899, true, 0, false), (1001, true, 0, false),
            // In another boot it is, if all of it was durable.
            (900, false, 300, true), (900, false, 299, false), (899, false, 300, false),
        ] as [(Int64, Bool, Int64, Bool)]
    )
    func rangesCountAllOrNotAtAll(size: Int64, isSameBoot: Bool, durable: Int64, count: Bool) {
        var ranges = ByteRangeSet(0..<200)
        ranges.insert(800..<900)
        let bytes = Self.partial(ranges: ranges, durable: durable).rangesUsable(
            size: size,
            isSegmented: true,
            bootID: isSameBoot ? Self.boot : UUID()
        )
        #expect(bytes == (count ? ranges : ByteRangeSet()))
    }

    /// They were stored before the mark was set; as long as it is not, the size tells more.
    @Test(arguments: [(true, 900), (false, 150)] as [(Bool, Int64)])
    func withoutTheMarkRangesDoNotCount(isSameBoot: Bool, usable: Int64) {
        let partial = Self.partial(ranges: ByteRangeSet(0..<200), durable: 150)
        let bytes = partial.rangesUsable(
            size: 900,
            isSegmented: false,
            bootID: isSameBoot ? Self.boot : UUID()
        )
        #expect(bytes == ByteRangeSet(0..<usable))
    }

    /// The mark of a whole file is removed once its bytes are durable; another one has lost it.
    @Test(arguments: [(true, 999), (false, 0)] as [(Bool, Int64)])
    func holesWithoutTheMarkAreFullOrUnknown(isSameBoot: Bool, usable: Int64) {
        var ranges = ByteRangeSet(0..<200)
        ranges.insert(800..<900)
        let bytes = Self.partial(ranges: ranges, durable: 300).rangesUsable(
            size: 1000,
            isSegmented: false,
            bootID: isSameBoot ? Self.boot : UUID()
        )
        #expect(bytes == ByteRangeSet(0..<usable))
    }

    @Test func rangesWithoutTheStartAreNoFront() {
        let partial = Self.partial(ranges: ByteRangeSet(500..<900), durable: 400)
        #expect(partial.rangesUsable(size: 1000, isSegmented: false, bootID: UUID()).isEmpty)
    }

    @Test func ofAWholeFileTheLastByteIsAskedForAgain() {
        let partial = Self.partial(ranges: ByteRangeSet(0..<1000), durable: 0)
        let bytes = partial.rangesUsable(size: 1000, isSegmented: true, bootID: Self.boot)
        #expect(bytes == ByteRangeSet(0..<999))
    }

    private static func partial(ranges: ByteRangeSet?, durable: Int64) -> PartialDownload {
        PartialDownload(
            partFence: Fence(rawValue: 1),
            ranges: ranges,
            bootID: boot,
            bytesDurable: durable,
            bytesTotal: 1000,
            validator: EntityValidator(stored: "\"1\"")
        )
    }
}
