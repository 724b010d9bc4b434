# The laboratory's six cases in Cap'n Proto: an absent text or struct is a null pointer, an absent float a union's none.
@0xd1a5c0de5eed0001;

struct PingPong {
  id @0 :Int64;
  version @1 :Int32;
  message @2 :Text;
  isImportant @3 :Bool;
  names @4 :List(Text);
  ints @5 :List(Int32);
  doubles @6 :List(Float64);
}

struct Doubles {
  single1 @0 :Float64;
  single2 @1 :Float64;
  single3 @2 :Float64;
  single4 @3 :Float64;
  single5 @4 :Float64;
  list @5 :List(Float64);
}

struct Strings {
  string1 @0 :Text;
  string2 @1 :Text;
  string3 @2 :Text;
  string4 @3 :Text;
  string5 @4 :Text;
  names @5 :List(Text);
}

struct Zeek {
  ts @0 :Int64;
  uid @1 :Text;
  origH @2 :Text;
  origP @3 :Int32;
  respH @4 :Text;
  respP @5 :Int32;
  proto @6 :Text;
  transId @7 :Int32;
  rtt :union {
    none @8 :Void;
    some @9 :Float64;
  }
  query @10 :Text;
  qclass @11 :Int32;
  qclassName @12 :Text;
  qtype @13 :Int32;
  qtypeName @14 :Text;
  rcode @15 :Int32;
  rcodeName @16 :Text;
  aa @17 :Bool;
  tc @18 :Bool;
  rd @19 :Bool;
  ra @20 :Bool;
  z @21 :Int32;
  answers @22 :List(Text);
  ttls @23 :List(Float64);
  rejected @24 :Bool;
}

struct Tag {
  key @0 :Text;
  value @1 :Text;
}

struct Measurement {
  metric @0 :Text;
  tags @1 :List(Tag);
  logtime @2 :Int64;
  value @3 :Int64;
}

struct Customer {
  id @0 :Int64;
  name @1 :Text;
  email @2 :Text;
}

struct Shipping {
  street @0 :Text;
  city @1 :Text;
  postcode @2 :Text;
  country @3 :Text;
}

struct Line {
  sku @0 :Text;
  description @1 :Text;
  quantity @2 :Int32;
  unitPriceCents @3 :Int64;
  discount :union {
    none @4 :Void;
    some @5 :Float64;
  }
}

struct Order {
  id @0 :Int64;
  placedAt @1 :Int64;
  currency @2 :Text;
  customer @3 :Customer;
  shipping @4 :Shipping;
  lines @5 :List(Line);
  note @6 :Text;
  totalCents @7 :Int64;
}
