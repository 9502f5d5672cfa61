"""What Kafka's clients are told of TLS and credentials."""

import pickle
import ssl

from korvet.pipeline.kafka_security import KafkaSecurity

SECRET = "not to be shown"  # noqa: S105 - nobody uses it


def test_nothing_is_asked_for_unless_it_is_said() -> None:
    assert KafkaSecurity().options() == {"security_protocol": "PLAINTEXT"}


def test_a_user_and_tls_go_together() -> None:
    security = KafkaSecurity(tls=True, user="ada", password=SECRET, mechanism="PLAIN")

    options = pickle.loads(pickle.dumps(security)).options()  # noqa: S301 - our own

    assert isinstance(options.pop("ssl_context"), ssl.SSLContext)
    assert options == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "ada",
        "sasl_plain_password": SECRET,
    }


def test_a_password_is_not_shown() -> None:
    assert SECRET not in repr(KafkaSecurity(user="ada", password=SECRET))
