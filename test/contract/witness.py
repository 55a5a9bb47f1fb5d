"""Pulsar's official Python client, for a second opinion about what the drivers write and read.

    witness.py read  SERVICE_URL TOPIC SUBSCRIPTION COUNT   acks COUNT messages; its last line is the JSON array of them
    witness.py write SERVICE_URL TOPIC                      publishes the JSON array on standard input

A message is {"payload": base64, "properties": {name: text}}. Exits with an error when nothing comes for a minute.
"""

import base64
import json
import sys

import pulsar

LIMIT_MS = 60_000


def read(client, topic, subscription, count):
    consumer = client.subscribe(topic, subscription, consumer_type=pulsar.ConsumerType.Shared)
    messages = []
    while len(messages) < int(count):
        message = consumer.receive(LIMIT_MS)
        messages.append({"payload": base64.b64encode(message.data()).decode(), "properties": message.properties()})
        consumer.acknowledge(message)
    consumer.close()
    print("\n" + json.dumps(messages))


def write(client, topic):
    producer = client.create_producer(topic, batching_enabled=False)
    for message in json.load(sys.stdin):
        producer.send(base64.b64decode(message["payload"]), properties=message["properties"])
    producer.close()


def main(command, service_url, *arguments):
    log = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    client = pulsar.Client(service_url, logger=log)
    {"read": read, "write": write}[command](client, *arguments)
    client.close()


main(*sys.argv[1:])
