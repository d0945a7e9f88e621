-- Titles in languages beside that of title, by language.
ALTER TABLE sales
    ADD COLUMN titles jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(titles) = 'object');
