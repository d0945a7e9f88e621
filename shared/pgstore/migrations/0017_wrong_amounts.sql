-- Payments of a wrong amount, which somebody has to look at for a day. They are few.
CREATE INDEX payments_wrong_amount ON payments (applied_at) WHERE result = 'wrong_amount';
