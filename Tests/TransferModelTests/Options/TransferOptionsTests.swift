import Testing
import TransferModel

@Suite struct TransferOptionsTests {
    /// Options with a value in every field, which no other value of a range's edge shares.
    private static func full() throws -> TransferOptions {
        var options = TransferOptions()
        for option in TransferOptions.all {
            let value = try #require(candidates(of: option).first { isValue($0, of: option) })
            try option.set(value, in: &options)
        }
        return options
    }

    private static func candidates(of option: TransferOption) -> [OptionValue] {
        [
            .flag(true), .integer(7), .integer(2048), .text("deliver"), .text("1.3"),
            .text("key"), .text("tus"), .texts(["crc32c": "deadbeef"]), .text(certificate),
            .list(["https://a.example/"]),
        ]
    }

    private static func isValue(_ value: OptionValue, of option: TransferOption) -> Bool {
        var options = TransferOptions()
        return (try? option.set(value, in: &options)) != nil
    }

    /// The outer form of a certificate: a sequence with a sequence in it.
    private static let certificate = """
        -----BEGIN CERTIFICATE-----
        MAcwAwIBAQUA
        -----END CERTIFICATE-----
        """

    @Test func eachOptionSetsAFieldOfItsOwn() throws {
        let full = try Self.full()
        for option in TransferOptions.all {
            var alone = TransferOptions()
            try option.set(#require(option.value(full)), in: &alone)
            let set = TransferOptions.all.filter { $0.value(alone) != nil }.map(\.name)
            #expect(set == [option.name])
            #expect(option.value(alone) == option.value(full))
        }
        #expect(Set(TransferOptions.all.map(\.name)).count == TransferOptions.all.count)
    }

    @Test func secondsAreReadBackAsTheyWereGiven() throws {
        let option = try #require(TransferOptions.all.first { $0.name == "progress_interval" })
        for milliseconds in Array(1000...9999) + (10...3600).map({ $0 * 1000 }) {
            var options = TransferOptions()
            let seconds = Double(milliseconds) / 1000
            try option.set(.number(seconds), in: &options)
            #expect(option.value(options) == .number(seconds))
        }
    }

    /// A field without a declaration would be neither stored nor told.
    @Test func eachFieldIsDeclared() throws {
        #expect(Mirror(reflecting: TransferOptions()).children.count == TransferOptions.all.count)
    }

    @Test func whatATaskSetsHoldsAndTheRestIsItsSessions() throws {
        let full = try Self.full()
        for option in TransferOptions.all {
            var task = TransferOptions()
            try option.set(#require(option.value(full)), in: &task)
            #expect(TransferOptions().overridden(by: task) == task)
            #expect(full.overridden(by: TransferOptions()) == full)
            #expect(full.overridden(by: task) == full)
            #expect(task.overridden(by: full) == full)
        }
        var session = TransferOptions()
        session.redirectsMax = 3
        session.sizeMax = 5
        var task = TransferOptions()
        task.redirectsMax = 4
        let both = session.overridden(by: task)
        #expect(both.redirectsMax == 4)
        #expect(both.sizeMax == 5)
    }

    @Test(arguments: [
        ("redirects_max", OptionValue.integer(11), "Must be from 0 to 10."),
        ("redirects_max", .number(1.5), "Must be a whole number."),
        ("retry/delay_base", .integer(0), "Must be from 0.1 to 86400 seconds."),
        ("retry/delay_base", .text("1"), "Must be a number."),
        ("http_errors", .text("ignore"), "Must be `fail` or `deliver`."),
        ("asks_to_begin", .integer(1), "Must be true or false."),
    ])
    func aValueOutOfPlaceIsRefusedWithItsRule(
        name: String,
        value: OptionValue,
        rule: String
    ) throws {
        let option = try #require(TransferOptions.all.first { $0.name == name })
        var options = TransferOptions()
        let refusal = #expect(throws: OptionRefusal.self) { try option.set(value, in: &options) }
        #expect(refusal?.faults.map(\.rule) == [rule])
        #expect(options.isEmpty)
    }

    /// Otherwise a range that becomes narrower would make stored tasks unreadable.
    @Test func aStoredValueNeedsNotBeInRange() throws {
        var options = TransferOptions()
        for option in TransferOptions.all {
            switch option.name {
            case "redirects_max": try option.restore(.integer(99), in: &options)
            case "retry/delay_base": try option.restore(.number(0.001), in: &options)
            default: break
            }
        }
        #expect(options.redirectsMax == 99)
        #expect(options.retryDelayBase == .milliseconds(1))
    }
}
